import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parkUnreadableLogins } from '../../src/program/app/local-app.ts'
import { signInWithPassword } from '../../src/program/app/sign-in.ts'
import { openDaemon } from '../../src/program/daemon/daemon.ts'
import { openRig } from '../core/mirror/rig.ts'
import { eventually } from '../kit/eventually.ts'
import { findSpoolName } from '../kit/identity.ts'
import { openForEach, openForTest } from '../kit/open-for.ts'

const env = { MUSETTE_HTTP: '127.0.0.1:0', MUSETTE_POLL_EVERY: '1s', MUSETTE_LAG: '1s' }
const rig = openForEach(() => openRig({ activities: 2, env }))

const signIn = (name: string) =>
  signInWithPassword(rig.app, { name, username: 'rider', password: 'rider', keepPassword: true })

async function start() {
  const input = { roles: ['scheduler', 'worker', 'web'] as const, signal: new AbortController().signal }
  const daemon = await openForTest(openDaemon(rig.app.config, rig.app.log, input))
  return daemon
}

/** Opens an account beside the rig's account, or the rig's account itself. */
async function openLogin(name: string) {
  const { accountId: id } = name === 'default' ? rig.account : await signIn(name)
  const run = (sql: string) => rig.rows(`${sql} where account_id = ${id}`)
  return {
    id,
    name,
    run,
    spool: join(rig.dataDir, await findSpoolName(rig.databaseUrl, id)),
    bend: (column: string) =>
      run(`update musette.credentials set ${column} = set_byte(${column}, 40, get_byte(${column}, 40) # 1)`),
    state: async () => (await run('select needs_login, last_error from training.accounts'))[0],
    isPolled: () =>
      eventually(async () => (await run(DONE)).some(({ done }) => done), { what: `a poll of ${name}` }),
  }
}
type Login = Awaited<ReturnType<typeof openLogin>>

const DONE = `select outcome = 'done' and resource = 'activities' as done from training.sync_runs`
const WELL = { needs_login: false, last_error: null }
const parked = (words: string, name: string) => ({
  needs_login: true,
  last_error: expect.stringMatching(new RegExp(`${words}.*run: musette login ${name}$`)),
})

const OTHER_KEY = `update musette.credentials set key_id = '00000000'`
const OTHER_ADDRESS = `update training.accounts set base_url = 'http://127.0.0.1:9'`
const DAMAGES: ReadonlyArray<[name: string, words: string, damage: (login: Login) => Promise<unknown>]> = [
  ['bent-row', 'are damaged', ({ bend }) => bend('access_token')],
  ['bent-password', 'are damaged', ({ bend }) => bend('password')],
  ['other-key', 'sealed with another key', ({ run }) => run(OTHER_KEY)],
  ['other-address', 'issued at another address', ({ run }) => run(OTHER_ADDRESS)],
  ['nonsense-in-spool', 'is damaged', ({ spool }) => writeFile(spool, '{')],
  ['empty-spool', 'is damaged', ({ spool }) => writeFile(spool, '')],
  ['folder-as-spool', 'cannot be read', ({ spool }) => mkdir(spool)],
]

it('a starting daemon parks accounts with unreadable tokens, and the others continue', async () => {
  const logins: Login[] = []
  for (const [name, , damage] of DAMAGES) {
    const login = await openLogin(name)
    await damage(login)
    logins.push(login)
  }
  const good = await openLogin('default')
  const { url } = await start()
  for (const [index, [name, words]] of DAMAGES.entries())
    expect(await logins[index]?.state()).toMatchObject(parked(words, name))
  await good.isPolled()
  for (const { name } of logins) {
    const said = rig.log.lines.filter(({ level, msg }) => level === 'error' && msg?.includes(`"${name}"`))
    expect(said, name).toHaveLength(1)
  }
  const metrics = await eventually(async () => {
    const page = await (await fetch(`${url}/metrics`)).text()
    return page.includes('musette_account_needs_login{') && page
  })
  for (const { name } of logins) expect(metrics).toContain(`musette_account_needs_login{account="${name}"} 1`)
  expect(metrics).toContain('musette_account_needs_login{account="default"} 0')
  for (const { name, state } of logins) {
    await signIn(name)
    expect(await state(), name).toEqual(WELL)
  }
  await logins[0]?.isPolled()
})

it('a daemon parks an account whose tokens become unreadable, without failing polls', async () => {
  const anna = await openLogin('anna')
  const other = await openLogin('default')
  await start()
  await anna.isPolled()
  await anna.bend('refresh_token')
  await eventually(async () => (await anna.state())?.needs_login)
  await rig.rows(`delete from training.sync_runs`)
  await other.isPolled()
  expect(rig.log.lines.filter(({ level, msg }) => level === 'error' && msg?.includes('dead'))).toEqual([])
})

it('a parked account recovers with readable tokens, unless its login has ended', async () => {
  const anna = await openLogin('anna')
  const [before] = await anna.run('select key_id from musette.credentials')
  await anna.run(OTHER_KEY)
  await parkUnreadableLogins(rig.app)
  expect(await anna.state()).toMatchObject(parked('another key', 'anna'))
  await anna.run(`update musette.credentials set key_id = '${before?.key_id}'`)
  expect(await rig.app.vault.read(anna.id)).toMatchObject({ needsLogin: false })
  expect(await anna.state()).toEqual(WELL)

  await rig.app.vault.locked(anna.id, (held) => held.park('the login has ended'))
  await writeFile(anna.spool, '{')
  await parkUnreadableLogins(rig.app)
  await rm(anna.spool)
  expect(await rig.app.vault.read(anna.id)).toMatchObject({ needsLogin: true })
  expect(await anna.state()).toEqual({ needs_login: true, last_error: 'the login has ended' })
})

it('an account with another key is parked alone, and the key still counts as right', async () => {
  const anna = await openLogin('anna')
  await anna.run(OTHER_KEY)
  expect(await parkUnreadableLogins(rig.app, anna.id)).toBeUndefined()
  expect(await anna.state()).toMatchObject(parked('another key', 'anna'))
})

it('an unreadable spool file stops a key rotation, which then changes no login', async () => {
  const anna = await openLogin('anna')
  await mkdir(anna.spool)
  const sealed = () => rig.rows('select c::text from musette.credentials c order by account_id')
  const before = await sealed()
  const rotating = rig.app.vault.rotate(async () => Buffer.alloc(32, 7))
  await expect(rotating).rejects.toMatchObject({ code: 'spool_unreadable' })
  expect(await sealed()).toEqual(before)
})

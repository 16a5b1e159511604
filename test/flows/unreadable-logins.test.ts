import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { signInWithPassword } from '../../src/program/app/sign-in.ts'
import { type Daemon, openDaemon } from '../../src/program/daemon/daemon.ts'
import { openRig, type Rig } from '../core/mirror/rig.ts'
import { eventually } from '../kit/eventually.ts'
import { findSpoolName } from '../kit/identity.ts'

const LOGIN = { username: 'rider', password: 'rider', keepPassword: true }
const BEND = (column: string) =>
  `update musette.credentials set ${column} = set_byte(${column}, 40, get_byte(${column}, 40) # 1)`

let rig: Rig
let daemon: Daemon | undefined
let annaId: number
const stop = new AbortController()

beforeEach(async () => {
  rig = await openRig({
    activities: 2,
    env: { MUSETTE_HTTP: '127.0.0.1:0', MUSETTE_POLL_EVERY: '1s', MUSETTE_LAG: '1s' },
  })
  annaId = (await signInWithPassword(rig.app, { name: 'anna', ...LOGIN })).accountId
})
afterEach(async () => {
  await daemon?.close()
  daemon = undefined
  await rig.close()
})

const start = async () => {
  const { config, log } = rig.app
  daemon = await openDaemon(config, log, { roles: ['scheduler', 'worker', 'web'], signal: stop.signal })
  return daemon
}
const spoolOf = async () => join(rig.dataDir, await findSpoolName(rig.databaseUrl, annaId))
const ofAnna = (sql: string) => rig.rows(`${sql} where account_id = ${annaId}`)
const anna = async () => (await ofAnna('select needs_login, last_error from training.accounts'))[0]
const parked = (words: string) => ({
  needs_login: true,
  last_error: expect.stringMatching(new RegExp(`${words}.*run: musette login anna$`)),
})
const polled = (name: string) =>
  eventually(
    async () =>
      (
        await rig.rows(
          `select 1 from training.sync_runs join training.accounts using (account_id)
           where name = $1 and resource = 'activities' and outcome = 'done'`,
          [name],
        )
      )[0],
  )

describe('an account whose tokens cannot be read', () => {
  it.each([
    ['bytes of its row are bent', 'are damaged', () => ofAnna(BEND('access_token'))],
    ['its password is bent', 'are damaged', () => ofAnna(BEND('password'))],
    [
      'another key sealed it',
      'sealed with another key',
      () => ofAnna(`update musette.credentials set key_id = '00000000'`),
    ],
    [
      'its address is another one',
      'made at another address',
      () => ofAnna(`update training.accounts set base_url = 'http://127.0.0.1:9'`),
    ],
    ['its spool file is nonsense', 'is damaged', async () => writeFile(await spoolOf(), '{')],
    ['its spool file is empty', 'is damaged', async () => writeFile(await spoolOf(), '')],
    ['its spool file is a folder', 'cannot be read', async () => mkdir(await spoolOf())],
  ])('is parked by a daemon that starts, and the others go on: %s', async (_what, words, damage) => {
    await damage()
    const { url } = await start()
    expect(await anna()).toMatchObject(parked(words))
    await polled('default')
    expect(rig.log.lines.filter(({ level, msg }) => level === 'error' && msg?.includes('anna'))).toHaveLength(
      1,
    )
    const metrics = await eventually(async () => {
      const page = await (await fetch(`${url}/metrics`)).text()
      return page.includes('musette_account_needs_login{') && page
    })
    expect(metrics).toContain('musette_account_needs_login{account="anna"} 1')
    expect(metrics).toContain('musette_account_needs_login{account="default"} 0')
    await signInWithPassword(rig.app, { name: 'anna', ...LOGIN })
    expect(await anna()).toEqual({ needs_login: false, last_error: null })
    await polled('anna')
  })

  it('is parked by the daemon, without a failed job at each poll', async () => {
    await start()
    await polled('anna')
    await ofAnna(BEND('refresh_token'))
    await eventually(async () => (await anna())?.needs_login)
    await ofAnna('delete from training.sync_runs')
    await rig.rows(`delete from training.sync_runs`)
    await polled('default')
    expect(rig.log.lines.filter(({ level, msg }) => level === 'error' && msg?.includes('dead'))).toEqual([])
  })

  it('recovers when they can be read again, and stays parked when its login had ended', async () => {
    const [before] = await ofAnna('select key_id from musette.credentials')
    await ofAnna(`update musette.credentials set key_id = '00000000'`)
    await start()
    expect(await anna()).toMatchObject(parked('another key'))
    await ofAnna(`update musette.credentials set key_id = '${before?.key_id}'`)
    expect(await rig.app.vault.read(annaId)).toMatchObject({ needsLogin: false })
    expect(await anna()).toEqual({ needs_login: false, last_error: null })
    await polled('anna')
    await daemon?.close()
    daemon = undefined

    await rig.app.vault.locked(annaId, (held) => held.park('the login has ended'))
    await writeFile(await spoolOf(), '{')
    await start()
    await rm(await spoolOf())
    expect(await rig.app.vault.read(annaId)).toMatchObject({ needsLogin: true })
    expect(await anna()).toEqual({ needs_login: true, last_error: 'the login has ended' })
  })

  it('stops no rotation of the key: only the others are sealed again', async () => {
    await ofAnna(BEND('access_token'))
    await rig.app.vault.read(annaId).catch(() => undefined)
    const next = Buffer.alloc(32, 7)
    const rotated = await rig.app.vault.rotate(async () => next)
    expect(rotated).toMatchObject({ logins: 1, unreadable: [{ code: 'login_damaged', accountId: annaId }] })
    expect(rotated.unreadable[0]?.message).toContain('run: musette login anna')
    const ids = await rig.rows('select distinct key_id from musette.credentials')
    expect(ids).toHaveLength(1)
  })

  it('stops a rotation when its newest tokens are in a file that cannot be read', async () => {
    await mkdir(await spoolOf())
    const before = await rig.rows('select c::text from musette.credentials c order by account_id')
    const next = Buffer.alloc(32, 7)
    await expect(rig.app.vault.rotate(async () => next)).rejects.toMatchObject({ code: 'spool_unreadable' })
    expect(await rig.rows('select c::text from musette.credentials c order by account_id')).toEqual(before)
    await rm(await spoolOf(), { recursive: true })
  })
})

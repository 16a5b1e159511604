import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../../kit/eventually.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { distPath } from '../../kit/processes.ts'
import { LONGEST_ACTIVITY_SECONDS, makeRide } from '../../kit/ride.ts'
import { startOnTerminal } from '../../kit/terminal.ts'
import { type CliRig, openCliRig } from '../cli/rig.ts'

const LOGIN = ['login', '--username', 'rider', '--password-stdin']
const makeKeyText = () => randomBytes(32).toString('base64')

let rig: CliRig
const open = async () => {
  rig = await openCliRig({ activities: 1, longestActivitySeconds: LONGEST_ACTIVITY_SECONDS })
}
const close = () => rig.close()

const sealed = () => queryOnce(rig.databaseUrl, 'select c::text from musette.credentials c')
const keyId = async () =>
  (await queryOnce(rig.databaseUrl, 'select key_id from musette.credentials'))[0]?.key_id

describe('a key in the data directory', () => {
  beforeAll(async () => {
    await open()
    await rig.musette(LOGIN, { input: 'rider' })
  })
  afterAll(close)

  it('is replaced under a running daemon, which polls and refreshes with the new one', async () => {
    const daemon = rig.start(['start'], { env: { MUSETTE_POLL_EVERY: '1s' } })
    const polls = async () =>
      Number(
        (
          await queryOnce(
            rig.databaseUrl,
            `select count(*) as n from training.sync_runs where kind in ('poll', 'backfill') and outcome = 'done'`,
          )
        )[0]?.n,
      )
    await eventually(async () => (await polls()) > 0)
    const old = await readFile(join(rig.dataDir, 'secret.key'), 'utf8')
    const before = await keyId()
    const rotated = await rig.musette(['key', 'rotate'])
    expect(rotated).toMatchObject({ code: 0 })
    const key = await readFile(join(rig.dataDir, 'secret.key'), 'utf8')
    expect(key).not.toBe(old)
    expect(rotated.stdout + rotated.stderr).not.toContain(key.trim())
    expect(rotated.stdout).toContain('backups made before this hold logins sealed with the old key')
    expect(rotated.stdout).toContain('run: musette backup FILE')
    const after = await keyId()
    expect(after).not.toBe(before)
    const granted = async () => (await rig.steer<{ refresh: string[] }>('GET', 'tokens')).refresh.length
    const grants = await granted()
    await rig.steer('POST', 'tokens/expire')
    await eventually(async () => (await granted()) > grants)
    const polled = await polls()
    await eventually(async () => (await polls()) > polled + 1)
    const end = await daemon.kill('SIGTERM')
    expect(end).toMatchObject({ code: 0 })
    expect(end.stderr).not.toContain('another key')
    expect(await keyId()).toBe(after)
    expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
  })

  it('that is lost is replaced by a login', async () => {
    const env = { MUSETTE_SECRET_KEY: makeKeyText() }
    expect(await rig.musette(LOGIN, { input: 'rider', env })).toMatchObject({ code: 0 })
    expect(await rig.musette(['sync'], { env })).toMatchObject({ code: 0 })
    expect(await rig.musette(['sync'])).toMatchObject({ code: 2 })
  })
})

describe('a key on paper', () => {
  beforeAll(async () => {
    await open()
    await rig.musette(LOGIN, { input: 'rider' })
    await rig.musette(['key', 'rotate'])
  })
  afterAll(close)
  const keyPath = () => join(rig.dataDir, 'secret.key')
  /** Runs the verb with standard output in a file, and returns what it wrote there. */
  const exportTo = async (mode: number, env = {}) => {
    const path = join(rig.dataDir, `paper-${mode.toString(8)}.txt`)
    await writeFile(path, '', { mode })
    await chmod(path, mode)
    const command = '"$0" "$1" key export > "$2"'
    const { status, stderr } = spawnSync('sh', ['-c', command, process.execPath, distPath('main.js'), path], {
      env: { ...process.env, ...rig.env, ...env },
      encoding: 'utf8',
    })
    return { status, stderr, text: await readFile(path, 'utf8'), path }
  }

  it('is printed to its owner only: a terminal, or a file of mode 0600', async () => {
    const piped = await rig.musette(['key', 'export'])
    const open = await exportTo(0o640)
    for (const { stderr } of [piped, open])
      expect(stderr).toContain('run: (umask 077; musette key export > key.txt)')
    expect([piped.code, piped.stdout, open.status, open.text]).toEqual([2, '', 2, ''])
    const shown = await startOnTerminal([distPath('main.js'), 'key', 'export'], {
      cwd: rig.dataDir,
      env: rig.env,
    }).finished
    expect(shown.screen).toMatch(/^ 1:( \d{6}){6}\r?\n 7:( \d{6}){6}\r?\n13:( \d{6}){5}\r?$/m)
    expect(shown.screen).toContain(`key ${await keyId()} of musette`)
    expect((await exportTo(0o600)).text.replaceAll('\r', '')).toBe(shown.screen.replaceAll('\r', ''))
  })

  it('opens the logins when key and replaced key are lost, beside a newer key too', async () => {
    const { path, text } = await exportTo(0o600)
    expect(text.match(/^key [0-9a-f]{8} of/gm)).toHaveLength(2)
    for (const newer of [false, true]) {
      if (newer) await writeFile(keyPath(), makeKeyText())
      else await rm(keyPath())
      expect(await rig.musette(['sync'])).toMatchObject({ code: 2 })
      const added = await rig.musette(['key', 'import', path])
      expect(added.stdout).toContain(
        `the key ${await keyId()} is in ${newer ? `${keyPath()}.old-${await keyId()}` : keyPath()}`,
      )
      expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
      expect((await stat(keyPath())).mode & 0o777).toBe(0o600)
    }
  })

  it.each([
    ['a wrong text', {}, '123456 123457', /group 1 has a typing error/],
    [
      'a key beside MUSETTE_SECRET_KEY',
      { MUSETTE_SECRET_KEY: makeKeyText() },
      '',
      /unset it, then run: musette key import FILE/,
    ],
    ['a file that is not there', {}, undefined, /nowhere\.txt cannot be read \(ENOENT\)/],
  ])('%s is not imported', async (_, env, input, sentence) => {
    const before = await readFile(keyPath(), 'utf8')
    const typed = input === undefined ? {} : { input }
    const file = input === undefined ? 'nowhere.txt' : '-'
    const refused = await rig.musette(['key', 'import', file], { ...typed, env })
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(sentence) })
    expect(await readFile(keyPath(), 'utf8')).toBe(before)
  })
})

describe('a key file that is lost', () => {
  beforeAll(open)
  afterAll(close)

  it('is named and not replaced by any verb while logins need it, and its copy opens them', async () => {
    for (const name of ['default', 'partner'])
      await rig.musette(['login', name, ...LOGIN.slice(1)], { input: 'rider' })
    const path = join(rig.dataDir, 'secret.key')
    const key = await readFile(path)
    await rm(path)
    for (const verb of ['start', 'sync', 'status', 'key rotate', 'login other'])
      expect(
        await rig.musette([...verb.split(' '), ...(verb.startsWith('login') ? LOGIN.slice(1) : [])], {
          input: 'rider',
        }),
      ).toMatchObject({
        code: verb === 'status' ? 0 : 2,
        stderr: expect.stringMatching(/another key|is lost; put its file back/),
      })
    expect(JSON.parse((await rig.musette(['status', '--json'])).stdout).key_problem).toContain(
      'put that key in place',
    )
    expect(existsSync(path)).toBe(false)
    await writeFile(path, key)
    expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
    await rm(path)
    const refused = await rig.musette(LOGIN, { input: 'rider' })
    expect(refused.stderr).toContain('run: musette logout partner')
    expect(await rig.musette(['logout', 'partner'])).toMatchObject({ code: 0 })
    expect(await rig.musette(LOGIN, { input: 'rider' })).toMatchObject({ code: 0 })
    expect(existsSync(path)).toBe(true)
  })

  it('replaced by a rotation is kept, and opens the logins of an older backup', async () => {
    await queryOnce(rig.databaseUrl, 'create table before as select * from musette.credentials')
    const old = await readFile(join(rig.dataDir, 'secret.key'), 'utf8')
    const { stdout } = await rig.musette(['key', 'rotate'])
    const [, path = ''] = /which is kept in (\S+);/.exec(stdout) ?? []
    expect(await readFile(path, 'utf8')).toBe(old)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    await queryOnce(
      rig.databaseUrl,
      'delete from musette.credentials; insert into musette.credentials select * from before',
    )
    expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
    await rm(path)
    expect(await rig.musette(['sync'])).toMatchObject({ code: 2 })
  })
})

describe('a key in the data directory that cannot be used or moved', () => {
  beforeAll(async () => {
    await open()
    await rig.musette(LOGIN, { input: 'rider' })
  })
  afterAll(close)

  it('stays in its place', async () => {
    const elsewhere = await rig.musette(['key', 'rotate', '--to', 'elsewhere.key'])
    expect(elsewhere.code).toBe(2)
    expect(elsewhere.stderr).toContain('run: musette key rotate')
    expect(existsSync(join(rig.dataDir, 'elsewhere.key'))).toBe(false)
  })

  it.each(['start', 'sync', 'upload ride.fit', 'key rotate --to next.key'])(
    'that does not fit is reported at once by %s, without a change',
    async (verb) => {
      await writeFile(join(rig.dataDir, 'ride.fit'), makeRide())
      const all = () =>
        queryOnce(
          rig.databaseUrl,
          `select (select json_agg(c) from musette.credentials c) c, (select json_agg(r) from training.sync_runs r) r,
         (select json_agg(u) from training.uploads u) u, (select json_agg(a) from training.accounts a) a`,
        )
      const before = await all()
      const env = { MUSETTE_SECRET_KEY: makeKeyText() }
      const wrong = await rig.musette(verb.split(' '), { env })
      expect(wrong.code).toBe(2)
      expect(wrong.stderr).toMatch(/sealed with another key, nothing is touched; put that key in place/)
      expect(await all()).toEqual(before)
      expect(existsSync(join(rig.dataDir, 'next.key'))).toBe(false)
    },
  )
})

describe('a key from the environment', () => {
  const env = { MUSETTE_SECRET_KEY: makeKeyText() }
  const rotate = (...more: string[]) => rig.musette(['key', 'rotate', ...more], { env })
  beforeAll(open)
  afterAll(close)
  beforeEach(async () => void (await rig.musette(LOGIN, { input: 'rider', env })))

  it('is replaced only with a file for the new one', async () => {
    const before = await sealed()
    const nowhere = await rotate()
    expect(nowhere.code).toBe(2)
    expect(nowhere.stderr).toContain('run: musette key rotate --to FILE')
    expect(await sealed()).toEqual(before)
  })

  it('is replaced by a new one in that file, and the command can be repeated', async () => {
    const path = join(rig.dataDir, 'next.key')
    const rotated = await rotate('--to', 'next.key')
    expect(rotated).toMatchObject({ code: 0, stderr: '' })
    expect(rotated.stdout).toContain(`MUSETTE_SECRET_KEY_FILE=${path}`)
    expect(rotated.stdout).toContain('backups made before this hold logins sealed with the old key')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(rotated.stdout).not.toContain((await readFile(path, 'utf8')).trim())
    expect(await rotate('--to', 'next.key')).toMatchObject({ code: 0 })
    expect(await rig.musette(['sync'], { env })).toMatchObject({ code: 2 })
    expect(await rig.musette(['sync'], { env: { MUSETTE_SECRET_KEY_FILE: path } })).toMatchObject({ code: 0 })
    expect(existsSync(join(rig.dataDir, 'secret.key'))).toBe(false)
  })

  it('is replaced by a key of the user, but not by the same key or an invalid one', async () => {
    await writeFile(join(rig.dataDir, 'same.key'), env.MUSETTE_SECRET_KEY)
    await writeFile(join(rig.dataDir, 'letter.key'), 'Dear friend')
    await writeFile(join(rig.dataDir, 'own.key'), makeKeyText())
    const before = await sealed()
    expect(await rotate('--to', 'same.key')).toMatchObject({ code: 2 })
    expect(await rotate('--to', 'letter.key')).toMatchObject({ code: 2 })
    expect(await rotate('--to', 'no/such/folder/x.key')).toMatchObject({ code: 2 })
    expect(await sealed()).toEqual(before)
    expect(await rotate('--to', 'own.key')).toMatchObject({ code: 0 })
    const own = { MUSETTE_SECRET_KEY_FILE: join(rig.dataDir, 'own.key') }
    expect(await rig.musette(['sync'], { env: own })).toMatchObject({ code: 0 })
  })
})

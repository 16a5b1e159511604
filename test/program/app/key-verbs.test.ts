import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { openForAll } from '../../kit/open-for.ts'
import { distPath } from '../../kit/processes.ts'
import { makeRide } from '../../kit/ride.ts'
import { startOnTerminal } from '../../kit/terminal.ts'
import { openCliRig } from '../cli/rig.ts'
import { typeVerb } from '../doctor/rig.ts'

const makeKeyText = () => randomBytes(32).toString('base64')

/** An account whose key is in the data directory; each test leaves it signed in. */
const rig = openForAll(() => openCliRig({ activities: 1, isSignedIn: true }))
let keyPath: string
const place = (name: string) => join(rig.dataDir, name)
const sealed = () => rig.rows('select c::text from musette.credentials c')
const keyId = async () => (await rig.rows('select key_id from musette.credentials'))[0]?.key_id
const modeOf = async (path: string) => (await stat(path)).mode & 0o777
const codeOf = async (line: string, env = {}) => (await rig.musette(line.split(' '), { env })).code
beforeAll(async () => {
  keyPath = place('secret.key')
  await writeFile(place('ride.fit'), makeRide())
})

// For a daemon whose key is replaced, see test/flows/leaks/daemon.test.ts; for a process, see key-rotation.test.ts.
it('a login replaces a wrong key', async () => {
  const env = { MUSETTE_SECRET_KEY: makeKeyText() }
  await rig.signIn('default', env)
  // The wrong key changes nothing.
  expect([await codeOf('sync', env), await codeOf('sync'), await codeOf('sync', env)]).toEqual([0, 2, 0])
  expect(await rig.signIn()).toMatchObject({ code: 0 })
})

describe('a key on paper', () => {
  beforeAll(() => rig.musette(['key', 'rotate']))
  /** Runs the verb with standard output in a file, and returns what the verb wrote to the file. */
  const exportTo = async (mode: number) => {
    const path = place(`paper-${mode.toString(8)}.txt`)
    await writeFile(path, '', { mode })
    await chmod(path, mode)
    const command = '"$0" "$1" key export > "$2"'
    const { status, stderr } = spawnSync('sh', ['-c', command, process.execPath, distPath('main.js'), path], {
      env: { ...process.env, ...rig.env },
      encoding: 'utf8',
    })
    return { status, stderr, text: await readFile(path, 'utf8'), path }
  }

  it('is printed only to a terminal or to a file of mode 0600', async () => {
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

  it('decrypts the logins if the key is lost or another key is there', async () => {
    const key = await readFile(keyPath)
    const { path, text } = await exportTo(0o600)
    expect(text.match(/^key [0-9a-f]{8} of/gm)?.length).toBeGreaterThan(1)
    for (const newer of [false, true]) {
      if (newer) await writeFile(keyPath, makeKeyText())
      else await rm(keyPath)
      for (const old of [`${keyPath}.old-${await keyId()}`]) await rm(old, { force: true })
      expect(await codeOf('sync')).toBe(2)
      const added = await rig.musette(['key', 'import', path])
      expect(added.stdout).toContain(
        `the key ${await keyId()} is in ${newer ? `${keyPath}.old-${await keyId()}` : keyPath}`,
      )
      expect(await codeOf('sync')).toBe(0)
      expect(await modeOf(keyPath)).toBe(0o600)
    }
    await writeFile(keyPath, key)
  })

  it('is not imported with a typing error, or if MUSETTE_SECRET_KEY is set', async () => {
    const before = await readFile(keyPath, 'utf8')
    const wrong = await rig.musette(['key', 'import', '-'], { input: '123456 123457' })
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('group 1 has a typing error') })
    const beside = await rig.musette(['key', 'import', '-'], { env: { MUSETTE_SECRET_KEY: makeKeyText() } })
    const says = 'unset it, then run: musette key import FILE'
    expect(beside).toMatchObject({ code: 2, stderr: expect.stringContaining(says) })
    expect(await readFile(keyPath, 'utf8')).toBe(before)
  })
})

describe('a key file', () => {
  it('is kept after a rotation and decrypts an older backup; the new key is not shown', async () => {
    await rig.rows('create table before as select * from musette.credentials')
    const old = await readFile(keyPath, 'utf8')
    const { stdout, stderr } = await rig.musette(['key', 'rotate'])
    expect(stdout + stderr).not.toContain((await readFile(keyPath, 'utf8')).trim())
    expect(stdout).toContain('backups made before this hold logins sealed with the old key')
    expect(stdout).toContain('run: musette backup FILE')
    const [, path = ''] = /which is kept in (\S+);/.exec(stdout) ?? []
    expect(await readFile(path, 'utf8')).toBe(old)
    expect(await modeOf(path)).toBe(0o600)
    const swap = (from: string) =>
      rig.rows(`delete from musette.credentials; insert into musette.credentials select * from ${from}`)
    await rig.rows('create table after as select * from musette.credentials')
    await swap('before')
    expect(await codeOf('sync')).toBe(0)
    await rename(path, place('kept.key'))
    const refused = await rig.musette(['sync'])
    expect(refused.code).toBe(2)
    await typeVerb('musette key import', refused.stderr, { env: rig.env, fill: { FILE: place('kept.key') } })
    expect(await codeOf('sync')).toBe(0)
    await rm(path)
    await swap('after')
  })

  it('is named and never replaced while logins need it, and a copy of it decrypts them', async () => {
    await rig.signIn('partner')
    const key = await readFile(keyPath)
    await rm(keyPath)
    for (const verb of ['start', 'sync', 'status', 'key rotate', 'login'])
      expect(await (verb === 'login' ? rig.signIn('other') : rig.musette(verb.split(' ')))).toMatchObject({
        code: verb === 'status' ? 0 : 2,
        stderr: expect.stringMatching(/another key|is lost; put its file back/),
      })
    const status = JSON.parse((await rig.musette(['status', '--json'])).stdout)
    expect(status.key_problem).toContain('put that key in place')
    expect(existsSync(keyPath)).toBe(false)
    await writeFile(keyPath, key)
    expect(await codeOf('sync')).toBe(0)
    await rm(keyPath)
    expect((await rig.signIn()).stderr).toContain('run: musette logout partner')
    expect(await codeOf('logout partner')).toBe(0)
    expect(await rig.signIn()).toMatchObject({ code: 0 })
    expect(existsSync(keyPath)).toBe(true)
  })
})

describe('a key from the environment', () => {
  const env = { MUSETTE_SECRET_KEY: makeKeyText() }
  const rotate = (...more: string[]) => rig.musette(['key', 'rotate', ...more], { env })

  it('is not replaced without a file, or by a file that is not a key', async () => {
    await rig.signIn('default', env)
    const before = await sealed()
    expect((await rotate()).stderr).toContain('run: musette key rotate --to FILE')
    await writeFile(place('letter.key'), 'Dear friend')
    expect((await rotate('--to', 'letter.key')).code).toBe(2)
    expect(await sealed()).toEqual(before)
  })

  it.each([
    ['a new one in a file', 'next.key', undefined],
    ['a key of the user', 'own.key', makeKeyText()],
  ])('is replaced by %s, and the command can be repeated', async (_, name, text) => {
    await rig.signIn('default', env)
    if (text) await writeFile(place(name), text)
    const rotated = await rotate('--to', name)
    expect(rotated).toMatchObject({ code: 0, stderr: '' })
    expect(rotated.stdout).toContain(`MUSETTE_SECRET_KEY_FILE=${place(name)}`)
    expect(rotated.stdout).not.toContain((await readFile(place(name), 'utf8')).trim())
    if (!text) expect(await modeOf(place(name))).toBe(0o600)
    expect(await rotate('--to', name)).toMatchObject({ code: 0 })
    const file = { MUSETTE_SECRET_KEY_FILE: place(name) }
    expect([await codeOf('sync', env), await codeOf('sync', file)]).toEqual([2, 0])
  })
})

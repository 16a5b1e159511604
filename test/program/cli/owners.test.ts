import {
  chmod,
  chown,
  cp,
  lchown,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findBinary } from '../../kit/binaries.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { distPath, type ProcessOptions, runNode, startNode } from '../../kit/processes.ts'
import { openReceiver } from '../../kit/receiver.ts'
import { sample } from '../../kit/sampling.ts'
import { makePath } from '../../kit/sudo.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { openCliRig } from './rig.ts'

const LOGIN = ['login', '--username', 'rider', '--password-stdin']
const MAIN = distPath('main.js')
const NOBODY = 65_534
/** A user without a line in /etc/passwd. */
const UNNAMED = 54_321
const OTHER = 54_322

/** Whether users can be compared: the test runs as root in a checkout that all users can enter. */
const hasUsers =
  process.getuid?.() === 0 &&
  findBinary(['setpriv']) !== undefined &&
  (await runNode(['--check', MAIN], { prefix: as(NOBODY) })).code === 0

function as(uid: number): readonly string[] {
  return ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups']
}

/** Makes Node write the user and groups of its process to standard error when it exits. */
const TELLING = `data:text/javascript,${encodeURIComponent(`import { writeSync } from 'node:fs'
process.on('exit', () => writeSync(2, 'ids ' + [process.getuid(), process.getgid(), ...process.getgroups()].join(' ') + '\\n'))`)}`
const run = (args: readonly string[], options: ProcessOptions) =>
  runNode(['--import', TELLING, MAIN, ...args], options)

async function makeFolder(path: string, uid: number, mode = 0o700): Promise<string> {
  await mkdir(path)
  await chown(path, uid, uid)
  await chmod(path, mode)
  return path
}

async function makeFile(path: string, uid: number, mode = 0o600, text = 'as it was\n'): Promise<string> {
  await writeFile(path, text)
  await chown(path, uid, uid)
  await chmod(path, mode)
  return path
}

async function openFolder() {
  const folder = await openTempDir('owners')
  await chmod(folder.path, 0o755)
  return folder
}

/** The owners of everything in a folder. */
async function listOwners(folder: string): Promise<ReadonlySet<number>> {
  const names = await readdir(folder, { recursive: true })
  return new Set(await Promise.all(names.map(async (name) => (await stat(join(folder, name))).uid)))
}

describe.skipIf(!hasUsers)('a command', () => {
  const openRig = () => openForTest(openCliRig({ activities: 1 }))
  const rig = openForAll(() => openCliRig({ activities: 1, isSignedIn: true }))
  const folder = openForAll(openFolder)

  const OWNERS = [
    ['that of root', 0],
    ['that of another user, as root', NOBODY],
    ['that of a user without a name, as root', UNNAMED],
    ['that of an ordinary user, as this one', OTHER, as(OTHER)],
  ] as const

  it.each(sample(OWNERS, 2))(
    'runs as the owner of its data directory: %s',
    async (name, uid, prefix = []) => {
      const dataDir = await makeFolder(join(folder.path, name), uid)
      const env = { ...(await openRig()).env, MUSETTE_DATA_DIR: dataDir }
      const ids = `${uid} ${uid} ${uid}`
      const options = { env, cwd: folder.path, input: 'rider', prefix }
      expect(await run(LOGIN, options)).toMatchObject({
        code: 0,
        stderr: expect.stringContaining(`ids ${ids}\n`),
      })
      const verbs = [['status'], ['backup', join(dataDir, 'a.backup')], ['key', 'export']]
      for (const { stderr } of await Promise.all(verbs.map((verb) => run(verb, options))))
        expect(stderr).toContain(`ids ${ids}\n`)
      const daemon = startNode(['--import', TELLING, MAIN, 'start', '--roles', 'watcher'], options)
      await daemon.waitForLine(/"started"/)
      expect((await daemon.kill()).stderr).toContain(`ids ${ids}\n`)
      expect(await readdir(dataDir)).toEqual(expect.arrayContaining(['secret.key', 'a.backup', 'drop']))
      expect([...(await listOwners(dataDir))]).toEqual([uid])
      for (const name of ['secret.key', 'a.backup'])
        expect(await stat(join(dataDir, name))).toMatchObject({ mode: 0o100_600 })
    },
  )

  it('of root runs as the owner of the folder above, if the data directory does not exist', async () => {
    const home = await makeFolder(join(folder.path, 'home'), NOBODY, 0o755)
    const env = { ...(await openRig()).env, MUSETTE_DATA_DIR: '.musette' }
    const options = { env, cwd: home, input: 'rider' }
    expect(await run(LOGIN, options)).toMatchObject({ code: 0 })
    expect([...(await listOwners(home))]).toEqual([NOBODY])
  })

  it('of root in a data directory of another user cannot write where only root may', async () => {
    const dataDir = await makeFolder(join(folder.path, 'apart'), NOBODY)
    const closed = await makeFolder(join(folder.path, 'of root alone'), 0)
    const env = { ...rig.env, MUSETTE_DATA_DIR: dataDir }
    const { code, stderr } = await run(['backup', join(closed, 'a.backup')], { env })
    expect(code).toBe(2)
    expect(stderr).toMatch(/^musette: .*of root alone.*EACCES/m)
    expect(await readdir(closed)).toEqual([])
  })

  const REFUSALS = [
    [
      'root may not become the owner',
      NOBODY,
      ['setpriv', '--bounding-set=-setuid,-setgid'],
      /^sudo -u nobody '?MUSETTE_DATA_DIR=/,
    ],
    [
      'root may not become the owner',
      UNNAMED,
      ['setpriv', '--bounding-set=-setuid,-setgid'],
      /^setpriv --reuid=54321 /,
    ],
    ['the owner cannot read the program', NOBODY, [], /^sudo -u nobody '?MUSETTE_DATA_DIR=/],
  ] as const

  it.each(REFUSALS)('of root is refused if %s (%i)', async (why, uid, prefix, command) => {
    const name = `${why} ${uid}`
    const dataDir = await makeFolder(join(folder.path, name), uid)
    const main =
      prefix.length > 0 ? MAIN : await copyProgram(await makeFolder(join(folder.path, 'program'), 0))
    const env = { ...rig.env, MUSETTE_DATA_DIR: dataDir }
    const args = ['status', '--account', 'some one']
    const { code, stderr } = await runNode([main, ...args], { env, prefix })
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(`belongs to `) })
    const [, typed = ''] = /run: (.*)$/m.exec(stderr) ?? []
    expect(typed).toMatch(command)
    expect(typed).toMatch(/ musette status --account 'some one'$/)
    expect(await readdir(dataDir)).toEqual([])
    // There, the owner is refused only for the wrong account name.
    const finished = await type(typed, { env })
    expect(finished).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('can be no account "some one"'),
    })
  })

  const KEY = `${Buffer.alloc(32).toString('base64')}\n`
  /** A link that a user puts into the data directory, the text of the file of root that it leads to, and the verb that would use it. */
  const LINKS: ReadonlyArray<[uid: number, link: string, text?: string, verb?: readonly string[]]> = [
    [NOBODY, 'musette.env', 'MUSETTE_HTTP=hunter2\n'],
    [NOBODY, 'secret.key', KEY, LOGIN],
    [NOBODY, 'postgres.log'],
    [NOBODY, 'postgres/pg_hba.conf'],
    [NOBODY, 'postgres/postgresql.conf'],
    [NOBODY, 'postgres/PG_VERSION'],
    // These folders belong to root; the server of root, which has no rights, has created the link.
    [0, 'postgres/pg_hba.conf'],
    [0, 'postgres/postgresql.conf'],
    [0, 'postgres/PG_VERSION'],
  ]

  it.each(LINKS)(
    'of root follows no link in a data directory of user %i: %s',
    async (uid, link, text = 'hunter2\n', verb = ['status']) => {
      const own = await openForTest(openFolder())
      const victim = await makeFile(join(own.path, 'victim'), 0, 0o600, text)
      const dataDir = await makeFolder(join(own.path, 'data'), uid)
      const cluster = await makeFolder(join(dataDir, 'postgres'), NOBODY)
      await makeFile(join(cluster, 'PG_VERSION'), NOBODY, 0o600, '18\n')
      const access = JSON.stringify({ port: 1, password: '0'.repeat(48) })
      await makeFile(join(dataDir, 'postgres.json'), uid, 0o600, access)
      await rm(join(dataDir, link), { force: true })
      await symlink(victim, join(dataDir, link))
      await lchown(join(dataDir, link), NOBODY, NOBODY)
      const env = verb === LOGIN ? (await openRig()).env : {}
      const options = { env: { ...env, MUSETTE_DATA_DIR: dataDir }, input: 'rider' }
      const { code, stderr } = await run(verb, options)
      expect({ code, stderr }).toMatchObject({ code: expect.toSatisfy((code) => code > 1) })
      expect(stderr).not.toMatch(/hunter2|MUSETTE_HTTP/)
      expect(await readFile(victim, 'utf8')).toBe(text)
      expect(await stat(victim)).toMatchObject({ uid: 0, mode: 0o100_600 })
    },
  )
})

it.skipIf(!hasUsers)('a login in a folder of another user sends nothing', async () => {
  const service = await openForTest(openReceiver())
  const folder = await openForTest(openFolder())
  const clone = await makeFolder(join(folder.path, 'clone'), OTHER, 0o777)
  const dataDir = await makeFolder(join(clone, '.musette'), OTHER, 0o777)
  await makeFile(join(dataDir, 'musette.env'), OTHER, 0o644, `MUSETTE_BASE_URL=${service.url}\n`)
  const options = { cwd: clone, prefix: as(NOBODY), input: 'hunter2' }
  const { code, stderr } = await runNode([MAIN, ...LOGIN], options)
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(/^musette: the data directory .* run: export MUSETTE_DATA_DIR="\$HOME/),
  })
  expect(service.received).toEqual([])
})

/** Copies the program to a folder that only root can enter. */
async function copyProgram(folder: string): Promise<string> {
  const from = dirname(dirname(MAIN))
  for (const name of ['package.json', 'drizzle', 'dist/main.js', 'dist/chunks'])
    await cp(join(from, name), join(folder, name), { recursive: true })
  return join(folder, 'dist/main.js')
}

/** Types a command in a shell in which musette is installed; sudo may be missing here. */
async function type(command: string, options: ProcessOptions) {
  const folder = await openForTest(openFolder())
  const musette = `#!/bin/sh\nexec ${process.execPath} ${MAIN} "$@"\n`
  const env = { ...options.env, PATH: makePath(folder.path, { musette }) }
  const script = `const { spawnSync } = require('node:child_process')
    process.exit(spawnSync('sh', ['-c', ${JSON.stringify(command)}], { stdio: 'inherit' }).status)`
  return runNode(['-e', script], { ...options, env })
}

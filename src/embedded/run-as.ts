import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { chmod, chown, lstat, mkdir, readFile, rm, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError, isTooManyFiles } from '../kit/errors.ts'
import { orMissing } from '../kit/files.ts'
import { type Binaries, unavailable } from './binaries.ts'

/**
 * How Postgres programs are run: `prefix` is put before the command, `owner` owns the files, and with `switchUser` the program runs as that
 * user. The programs inherit `lockFd`, so that the lock on the data directory lasts until the last program has ended.
 */
export type RunAs = {
  lockFd?: number | undefined
  prefix: readonly string[]
  switchUser: boolean
  owner: { uid: number; gid: number }
  env: Readonly<Record<string, string>>
}

/** A finished program: exit code or signal, and the end of its output, stdout and stderr together. */
export type Finished = { code: number | null; signal: NodeJS.Signals | null; output: string }

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Postgres refuses to run as root, so it runs as the first of these users that exists. */
const SERVER_USERS = ['postgres', '_postgres', 'nobody']

/** In this user namespace, root appears as a user without rights but can still enter its own folders. */
const AS_NOBODY = ['unshare', '--user', '--map-user=65534', '--map-group=65534', '--']

/**
 * Finds out, by running the program, which user can enter both the programs' folder and `dataDir`. An ordinary user runs the server under that
 * same user. Root runs it as the owner of the database, so that the owner can continue with it; otherwise as `postgres` or `nobody`; or, if
 * those cannot enter the folders, as itself in a user namespace. Throws ConfigError `embedded_unavailable` if the programs do not run here,
 * and `embedded_unreachable` if no user works.
 */
export async function detectRunAs(binaries: Binaries, dataDir: string, lockFd?: number): Promise<RunAs> {
  // The server inherits no variables: PGOPTIONS or PGDATA of a person's shell must not change it.
  const env: Record<string, string> = { PATH, LC_ALL: 'C' }
  if (binaries.libraries) {
    env[process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH'] = binaries.libraries
  }
  const self = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  const plain: RunAs = { prefix: [], switchUser: false, owner: self, env, lockFd }
  const probe = await tryRun(plain, binaries, dataDir)
  const why = probe.output.trim().split('\n').at(-1)?.trim() || 'it said nothing'
  if (probe.code !== 0) throw unavailable(`its programs do not run here (${why})`)
  if (self.uid !== 0) return plain

  const users = [await readOwner(dataDir), await readServerUser()].filter((user) => user !== undefined)
  const ways: RunAs[] = [
    ...users.map((owner) => ({ ...plain, switchUser: true, owner })),
    { ...plain, prefix: AS_NOBODY },
  ]
  // Every secret file in the data directory is readable only by its owner, so other users may enter the directory.
  await chmod(dataDir, (await stat(dataDir)).mode | 0o011)
  for (const way of ways) if ((await tryRun(way, binaries, dataDir)).code === 0) return way
  throw new ConfigError(
    'embedded_unreachable',
    `cannot run the embedded Postgres as root: no other user can enter ${dataDir} or ${binaries.packageDir}; ` +
      'run musette as an ordinary user, or set DATABASE_URL to your own Postgres',
  )
}

/** Starts a program as `runAs` says. */
export function spawnAs(
  runAs: RunAs,
  command: readonly string[],
  options: SpawnOptions & { stdio: Array<'ignore' | 'pipe' | number> },
): ChildProcess {
  const [program = '', ...args] = [...runAs.prefix, ...command]
  const user = runAs.switchUser ? runAs.owner : {}
  const stdio = runAs.lockFd === undefined ? options.stdio : [...options.stdio, runAs.lockFd]
  return spawn(program, args, { ...options, ...user, stdio, env: runAs.env })
}

/** Returns the system's error if Postgres ended because of too few open files, of which it needs more than Node; otherwise undefined. */
export function asTooManyFiles(output: string): Error | undefined {
  if (!output.includes('insufficient file descriptors')) return undefined
  return Object.assign(new Error('too many open files for Postgres'), { code: 'EMFILE' })
}

/** Runs a program as `runAs` says, in `cwd` and with `input` on its standard input, and waits for its end. Throws the system's error if there are too many open files. */
export function runToEnd(runAs: RunAs, command: readonly string[], options: { cwd: string; input?: string }) {
  return new Promise<Finished>((resolve, reject) => {
    const child = spawnAs(runAs, command, {
      cwd: options.cwd,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    let output = ''
    const collect = (chunk: Buffer) => {
      output = `${output}${chunk}`.slice(-20_000)
    }
    child.stdout?.on('data', collect)
    child.stderr?.on('data', collect)
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(options.input ?? '')
    child.on('error', (error) => {
      if (isTooManyFiles(error)) reject(error)
      else resolve({ code: 127, signal: null, output: error.message })
    })
    child.on('close', (code, signal) => {
      const tooMany = asTooManyFiles(output)
      if (tooMany) reject(tooMany)
      else resolve({ code, signal, output })
    })
  })
}

/** Creates `directory`, owned by the user that runs the server. */
export async function createOwnDirectory(runAs: RunAs, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  if (runAs.switchUser) await chown(directory, runAs.owner.uid, runAs.owner.gid)
}

/** Removes a directory with the rights of its owner, so that a link that this user puts into it cannot make root delete elsewhere. */
export async function removeOwnDirectory(directory: string): Promise<void> {
  const { uid, gid } = (await lstat(directory).catch(orMissing)) ?? { uid: 0, gid: 0 }
  if (process.getuid?.() !== 0 || uid === 0)
    return rm(directory, { recursive: true, force: true, maxRetries: 3 })
  const owner: RunAs = { prefix: [], switchUser: true, owner: { uid, gid }, env: { PATH } }
  // The working directory is entered as root, because the owner may be unable to enter the folders above it.
  await runToEnd(owner, ['/bin/sh', '-c', 'find . -mindepth 1 -delete'], { cwd: directory })
  await rmdir(directory)
}

function tryRun(runAs: RunAs, binaries: Binaries, dataDir: string): Promise<Finished> {
  const script = 'cd "$1" && exec "$2" --version'
  return runToEnd(runAs, ['/bin/sh', '-c', script, 'sh', dataDir, binaries.postgres], { cwd: '/' })
}

/** Reads the owner of the database, or of the data directory if there is no database yet; undefined for root. */
async function readOwner(dataDir: string): Promise<RunAs['owner'] | undefined> {
  const { uid, gid } = await stat(join(dataDir, 'postgres')).catch(() => stat(dataDir))
  return uid > 0 && gid > 0 ? { uid, gid } : undefined
}

async function readServerUser(): Promise<{ uid: number; gid: number } | undefined> {
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '')
  for (const name of SERVER_USERS) {
    const line = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm').exec(passwd) ?? []
    const [uid, gid] = [Number(line[1]), Number(line[2])]
    if (uid > 0 && gid > 0) return { uid, gid }
  }
  return undefined
}

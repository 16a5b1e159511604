import { randomBytes } from 'node:crypto'
import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { ConfigError, errorLine, TransientError } from '../kit/errors.ts'
import { orMissing, orNone, readPlainFile, readRoom, renameDurably, writeFlushed } from '../kit/files.ts'
import { formatBytes } from '../kit/text.ts'
import { chooseFreePort, readAccess } from './access.ts'
import { openBinaries, readEarlierPackage, resolveBinaryPackage } from './binaries.ts'
import {
  changeOwner,
  createCluster,
  MAJOR_VERSION,
  makeUrl,
  READY,
  readVersion,
  setPassword,
  type Tools,
} from './cluster.ts'
import { readDiskFull } from './explain-end.ts'
import { acquireLock, type Lock } from './lock.ts'
import { describeInUse, readElsewhere } from './not-ready.ts'
import { startServer, waitUntilReady } from './postgres-server.ts'
import { stopOrphans } from './processes.ts'
import { detectRunAs, removeOwnDirectory } from './run-as.ts'

/** Name of the new files while data is copied into them. Under this name the files may be removed at any time; under `READY` they are complete. */
const NEXT = 'postgres.next'
/** This copy of the old server's control file lies among the new files. It differs from the original if a server has run on the old files again. */
const SOURCE = 'musette.source'
const CONTROL = 'global/pg_control'
const KEPT = /^postgres\.old-\d+$/
const PROGRAMS = /^postgres-\d+(\.lib)?$/

/** Disk space for the new server's WAL and for tables that are rewritten, bytes. */
const ROOM_BYTES = 256 * 1024 * 1024
/** Speed at which the old files are copied, compared and migrated, bytes/s, on two busy cores of a virtual machine. */
const BYTES_A_SECOND = 10_000_000

/** What is needed to upgrade the files of an earlier major version. */
export type MajorChange = NonNullable<Awaited<ReturnType<typeof readMajorChange>>>

/** The addresses of both servers; the old server writes nothing, and a plan has no new server. */
export type Servers = { from: string; to?: string }

/** `programs`: the folder of the earlier version's programs, or null if `command` must install them first; `kept`: where the old files stay. */
async function readMajorChange(dataDir: string) {
  const cluster = join(dataDir, 'postgres')
  const from = (await readVersion(cluster)) ?? MAJOR_VERSION
  const earlier = readEarlierPackage(dataDir, from)
  if (!earlier) return undefined
  const [bytes, room] = [await readSize(cluster), await readRoom(dataDir)]
  const estimates = { needed_bytes: bytes + ROOM_BYTES, estimated_s: bytes / BYTES_A_SECOND }
  const kept = join(dataDir, `postgres.old-${from}`)
  return { from, to: MAJOR_VERSION, bytes, ...estimates, free_bytes: room?.bytes ?? null, ...earlier, kept }
}

/**
 * Upgrades the files of an earlier major version in `dataDir`: runs the old server on them, lets `copy` fill a new server beside it, then
 * swaps the names. If the process is killed at any moment, the old or the new files are complete, see settleChange. A plan only runs `copy`
 * with the old server, if its programs are installed. Returns undefined if there is nothing to upgrade. Throws ConfigError
 * `embedded_programs`, `embedded_kept`, `embedded_mounted`, TransientError `embedded_room`, `embedded_in_use`, and the errors of the servers
 * and of `copy`; the old files are then unchanged.
 */
export async function changeMajor<T>(
  deps: { log: Logger; signal: AbortSignal },
  input: { dataDir: string; copy: (servers: Servers) => Promise<T>; isPlan?: boolean; takeOver?: boolean },
): Promise<{ change: MajorChange; copied?: T } | undefined> {
  // Without the lock, because every start asks.
  if (!(await readMajorChange(input.dataDir))) return undefined
  const dataDir = await realpath(input.dataDir)
  const lock = await acquireLock(dataDir, 'owner', { takeOver: input.takeOver ?? false })
  if (!lock)
    throw (await readChanging(dataDir)) ?? (await readElsewhere(dataDir)) ?? (await describeInUse(dataDir))
  try {
    await settleChange(dataDir)
    const change = await readMajorChange(dataDir)
    if (!change) return undefined
    if (input.isPlan && change.programs === null) return { change }
    if (input.isPlan)
      return {
        change,
        copied: await withOldServer(deps, { dataDir, lock }, change, (from) => input.copy({ from })),
      }
    await assertPossible(dataDir, change)
    const next = join(dataDir, NEXT)
    try {
      const copied = await withOldServer(deps, { dataDir, lock }, change, async (from, password) => {
        const binaries = await openBinaries(resolveBinaryPackage(), join(dataDir, 'postgres.lib'))
        const tools = { binaries, runAs: await detectRunAs(binaries, dataDir, lock.fd) }
        await createCluster(tools, { dataDir, directory: next, password })
        return withServer(deps, { ...tools, dataDir, password, name: NEXT }, (to) => input.copy({ from, to }))
      })
      // Both servers have ended and have written everything to the disk.
      await writeFlushed(join(next, SOURCE), await readPlainFile(join(dataDir, 'postgres', CONTROL)), 0o600)
      await renameDurably(next, join(dataDir, READY))
      await settleChange(dataDir)
      return { change, copied }
    } catch (error) {
      deps.signal.throwIfAborted()
      const full = await readDiskFull(dataDir)
      deps.log.error({ reason: errorLine(error) }, `the files of Postgres ${change.from} are unchanged`)
      throw full ?? error
    } finally {
      await removeOwnDirectory(next)
    }
  } finally {
    await lock.release()
  }
}

/**
 * Completes a major upgrade that was decided before its process was killed, and removes the files of an upgrade that was not decided. One
 * rename decides it: then the new files are named `READY`. If a server has run on the old files since, the old files are newer and stay.
 * Only the holder of the lock may call it, before the files are used.
 */
export async function settleChange(dataDir: string): Promise<void> {
  const at = (name: string) => join(dataDir, name)
  const source = await readPlainFile(at(join(READY, SOURCE))).catch(orMissing)
  if (source) {
    await stopOrphans(at('postgres'))
    const control = await readPlainFile(at(join('postgres', CONTROL))).catch(orMissing)
    if (control?.equals(source))
      await renameDurably(at('postgres'), at(`postgres.old-${await readVersion(at('postgres'))}`))
    if (!control || control.equals(source)) await renameDurably(at(READY), at('postgres'))
  }
  for (const name of [NEXT, READY]) {
    if (!(await stat(at(name)).catch(orMissing))) continue
    await stopOrphans(at(name))
    await removeOwnDirectory(at(name))
  }
}

/** Returns the error for processes that wait for another process's major upgrade, or undefined if there is none. */
export async function readChanging(dataDir: string): Promise<TransientError | undefined> {
  if (!(await stat(join(dataDir, NEXT)).catch(orMissing))) return undefined
  const message = `another process is upgrading the embedded Postgres in ${dataDir} to Postgres ${MAJOR_VERSION}, which may take long; run this again after that`
  return new TransientError('embedded_changing', message)
}

/** Finds the files that earlier major upgrades have kept, and the programs of those versions. */
export async function readKept(dataDir: string) {
  const names = await readdir(dataDir).catch(orNone)
  const kept = names.some((name) => KEPT.test(name)) ? names : []
  const paths = kept
    .filter((name) => KEPT.test(name) || PROGRAMS.test(name))
    .map((name) => join(dataDir, name))
  return Promise.all(
    paths.map(async (path) => ({
      path,
      bytes: await readSize(path),
      remove: () => removeOwnDirectory(path),
    })),
  )
}

/** Throws, before anything is written, if the upgrade is not possible. */
async function assertPossible(dataDir: string, change: MajorChange): Promise<void> {
  const { from, programs, command, kept, needed_bytes: needed, free_bytes: free } = change
  const path = join(dataDir, 'postgres')
  const what = `the files in ${path} are from Postgres ${from}`
  const cannot = (code: string, why: string) => new ConfigError(code, `${what}, and ${why}`)
  if (programs === null)
    throw cannot(
      'embedded_programs',
      `only the programs of that version can read them, and they are not installed; first run: ${command}`,
    )
  if (await stat(kept).catch(orMissing))
    throw cannot('embedded_kept', `an earlier upgrade has left ${kept}; move it away, then run this again`)
  const { dev } = await stat(dataDir)
  const cluster = await lstat(path)
  if (!cluster.isSymbolicLink() && cluster.dev !== dev)
    throw cannot(
      'embedded_mounted',
      `that folder is a mounted disk, which cannot be renamed; mount the disk at ${dataDir}`,
    )
  if (free === null || free >= needed) return
  const room = `the new ones need ${formatBytes(needed)} beside them, and the disk has ${formatBytes(free)}; make room, then run this again`
  throw new TransientError('embedded_room', `${what}; ${room}`)
}

/** Runs `work` with the server of an earlier major version on its files; statements and vacuum cannot write there. */
async function withOldServer<T>(
  deps: { log: Logger; signal: AbortSignal },
  { dataDir, lock }: { dataDir: string; lock: Lock },
  { from, programs }: MajorChange,
  work: (url: string, password: string) => Promise<T>,
): Promise<T> {
  const name = 'postgres'
  const binaries = await openBinaries(programs ?? '', join(dataDir, `postgres-${from}.lib`))
  const tools = { binaries, runAs: await detectRunAs(binaries, dataDir, lock.fd) }
  await stopOrphans(join(dataDir, name))
  await changeOwner(tools.runAs, join(dataDir, name))
  const access = await readAccess(dataDir)
  const password = access?.password ?? randomBytes(24).toString('hex')
  if (!access) await setPassword(tools, { dataDir, password })
  const settings = ['autovacuum=off', 'default_transaction_read_only=on']
  return withServer(deps, { ...tools, dataDir, password, name, settings }, (url) => work(url, password))
}

async function withServer<T>(
  deps: { log: Logger; signal: AbortSignal },
  input: Tools & { dataDir: string; password: string; name: string; settings?: string[] },
  work: (url: string) => Promise<T>,
): Promise<T> {
  // Programs do not know this port, so they write to neither server.
  const port = await chooseFreePort()
  const server = await startServer({ ...input, port })
  // On a full disk, a server cannot do a fast shutdown.
  let isUnwanted = input.name === NEXT
  try {
    const url = makeUrl({ port, password: input.password })
    await waitUntilReady(server, { ...input, url }, deps.log, deps.signal)
    const done = await work(url)
    isUnwanted = false
    return done
  } finally {
    await server.stop({ isUnwanted })
  }
}

async function readSize(path: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    // A file that a server removes meanwhile is not counted.
    if (entry.isFile()) bytes += (await lstat(join(entry.parentPath, entry.name)).catch(orMissing))?.size ?? 0
  }
  return bytes
}

import type { Logger } from 'pino'
import { errorLine } from '../../kit/errors.ts'
import { openFolder } from '../../kit/folders/folder.ts'
import { makeFolderLock } from '../../kit/folders/folder-lock.ts'
import { claimFolder, type DatabaseIdentity } from '../../kit/folders/folder-owner.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { makeSemaphore } from '../../kit/semaphore.ts'
import { type Clock, MINUTE, SECOND } from '../../kit/time.ts'
import { claimFile, finishFile, type ImportFile } from './claim-file.ts'
import { type FolderReport, makeProblems, makeReporter } from './folder-report.ts'
import { makeMover, moveRecovery } from './move-to-folder.ts'
import { movedFiles } from './moved-files.ts'
import { makeWriterReader, type ReadWriter } from './open-writers.ts'
import { makeSeenFiles, type WaitReason } from './seen-files.ts'
import { type Found, unfinishedBy, type WalkResult, walkFolder } from './walk-folder.ts'
import { folderWatch, makeScanTimer } from './watch.ts'

export type { DroppedFile } from './claim-file.ts'

export type DropFolder = Awaited<ReturnType<typeof openDropFolder>>

type DropFolderDeps = {
  log: Logger
  now: Clock
  /** the database of the folder, and the names of its signed-in accounts; files of others wait */
  owner: () => Promise<{ database: DatabaseIdentity; accounts: string[] }>
  importFile: ImportFile
  /** finds the program that has a file open for writing; for tests */
  readWriter?: ReadWriter
  /** gets the waiting files and the problems after each scan */
  show?: (report: FolderReport) => Promise<void>
}

export type DropFolderOptions = {
  dir: string
  /** for network shares that report no changes: the folder is scanned every few seconds instead */
  polling: boolean
  afterUpload: 'move' | 'keep'
  isDroppable: (name: string) => boolean
  /** how long size and times of a file must be unchanged until it is at rest */
  restMs?: number
  scanEveryMs?: number
  concurrency?: number
  maxBytes?: number
}

/** Rides show where a person lives. Folders made in the drop folder have its mode, also one that its owner gave to others. */
export const DROP_MODE = 0o700
/** The whole-FIT test decides; this only spares it files that are being written. */
const REST_MS = SECOND
const SCAN_EVERY_MS = MINUTE
const POLL_EVERY_MS = 5 * SECOND
/** When the system reports no changes, or not all: a walk over 20,000 files then costs a fiftieth of a core. */
const UNWATCHED_EVERY_MS = 15 * SECOND
const CONCURRENCY = 4
/** The most files that wait for their turn: a hundred thousand would take a gigabyte. */
const MAX_AT_WORK = 2_000
const MIB = 1_024 * 1_024
/** Far above any FIT file; reading more takes a slow disk minutes. Of an archive only its FIT files are read. */
const MAX_BYTES = 256 * MIB
const MAX_ARCHIVE_BYTES = 16_384 * MIB

/**
 * Opens the drop folder: creates it when it is missing, watches it, scans it now, after every change and every minute, and passes each file
 * at rest to `importFile`, one call a file at a time. Events are hints, the scan is the truth. In `move` mode an imported file goes to
 * `done/<year-month>/` or `failed/` below its account's folder; in `keep` mode no file is touched and an unchanged one is not imported
 * again until a restart. A folder that another database uses is left alone; of several processes one watches it at a time. Never throws for a problem of the folder: `show` reports it.
 */
export async function openDropFolder(deps: DropFolderDeps, options: DropFolderOptions) {
  const { log, now } = deps
  const { dir, afterUpload, restMs = REST_MS } = options
  const abort = new AbortController()
  const seen = makeSeenFiles({ restMs })
  const problems = makeProblems(log, now)
  const reporter = makeReporter({ log, seen, problems, ...(deps.show && { show: deps.show }) }, dir)
  const move = makeMover()
  const recoverMoves = moveRecovery({ log, move }, dir)
  const moved = movedFiles({ log, now, move })
  const imports = makeSemaphore(options.concurrency ?? CONCURRENCY)
  const working = new Set<Promise<void>>()
  const every = options.scanEveryMs ?? SCAN_EVERY_MS
  const timer = makeScanTimer({
    scan: () => scan(),
    everyMs: () => {
      if (options.polling) return Math.min(every, POLL_EVERY_MS)
      return watch.isWatching() ? every : Math.min(every, UNWATCHED_EVERY_MS)
    },
  })
  const watch = folderWatch({ problems, onHint: () => timer.scanSoon() }, options)
  const { importFile, readWriter = makeWriterReader() } = deps
  const claimDeps = { log, now, importFile, readWriter, move, moved, seen, problems }
  const claimOptions = { afterUpload, signal: abort.signal, scanSoon: () => timer.scanIn(restMs) }
  let walking: Promise<unknown> = Promise.resolve()
  let left: Parameters<typeof reporter.report>[1] = { unownedFolders: [], leftOut: [], leftOutCount: 0 }
  let walkBegan: Date | undefined
  let hasMore = false
  const lock = makeFolderLock(dir)
  /** Another process watches the folder: this one takes its place when that ends, and reports nothing until then. */
  let isStandby = false

  // The scan reports a missing folder anyway.
  await openFolder(dir, { mode: DROP_MODE })
    .then((folder) => folder.close())
    .catch((error: unknown) =>
      log.debug({ dir, reason: errorLine(error) }, 'the drop folder could not be made'),
    )
  timer.scanIn(0)

  /** Scans once; resolves when every file at rest that the scan found is imported and moved. */
  async function scan(): Promise<void> {
    do {
      const walk = walking.then(() => (abort.signal.aborted ? 0 : timer.timeWalk(walkOnce)))
      walking = walk.then(report)
      await walking
      if (working.size === 0) return
      await Promise.all(working)
      await report()
    } while (hasMore && !abort.signal.aborted)
  }

  async function report(): Promise<void> {
    if (!(abort.signal.aborted || isStandby)) await reporter.report(now().getTime(), left)
  }

  /** Walks once and starts the work on the files found; returns for how many. Never throws. */
  async function walkOnce(): Promise<number> {
    walkBegan = now()
    try {
      if (!(await watch.check())) return 0
      const owner = await findOwner()
      if (!owner || !(await isClaimed(owner.database))) return 0
      if (!(await isFirst())) return 0
      const { accounts } = owner
      await checkWritable()
      await moved.moveChangedBack()
      seen.beginWalk()
      const walked = await walkFolder(dir, { accounts, isDroppable: options.isDroppable })
      await watch.update(walked.entries)
      if (afterUpload === 'move') await recoverMoves(walked)
      reportUnreadable(walked)
      left = walked
      seen.keepOnly(new Set(walked.found.map((found) => found.key)))
      // Files of years are imported in the order of their activities, as far as the disk knows it.
      walked.found.sort((a, b) => a.identity.mtimeMs - b.identity.mtimeMs)
      return abort.signal.aborted ? 0 : startAll(walked.found)
    } catch (error) {
      const sentence = `drop folder: ${dir} cannot be scanned (${errorLine(error)}); it is tried again at the next scan`
      problems.begin('unreadable', sentence, error)
      return 0
    } finally {
      walkBegan = undefined
    }
  }

  /** Starts the work on the files in their order, as far as there is room; the others are found again when it is done. */
  function startAll(found: readonly Found[]): number {
    let started = 0
    hasMore = false
    for (const each of found) {
      hasMore = working.size >= MAX_AT_WORK
      if (hasMore) break
      if (startWork(each)) started++
    }
    return started
  }

  /** Starts the work on one file; false when there is none. */
  function startWork(found: Found): boolean {
    const decision = seen.decide(found, now().getTime())
    if (decision.do === 'nothing') {
      if (decision.againMs !== undefined) timer.scanIn(decision.againMs)
      return false
    }
    const why = whyLeft(found)
    if (why) {
      seen.recordLeft(found, why)
      return false
    }
    seen.recordClaimed(found)
    const work = imports(1, () =>
      decision.do === 'claim'
        ? claimFile(claimDeps, claimOptions, found)
        : finishFile(claimDeps, claimOptions, found, decision.result),
    )
    working.add(work)
    void work.finally(() => working.delete(work))
    return true
  }

  /** Returns why a file waits until it changes or has another name. */
  function whyLeft({ name, identity }: Found): WaitReason | undefined {
    const program = unfinishedBy(name)
    if (program !== undefined) {
      const reason = `${program} names files so until they are finished; if this one is, give it a name that ends in .fit, .fit.gz or .zip`
      return { code: 'unfinished_name', reason }
    }
    const isArchive = /\.(zip|gz)~?$/i.test(name)
    const max = options.maxBytes ?? (isArchive ? MAX_ARCHIVE_BYTES : MAX_BYTES)
    if (identity.size <= max) return undefined
    const advice = isArchive ? 'drop its files in smaller archives' : 'check that it is a FIT file'
    const reason = `too large to be read (more than ${Math.floor(max / MIB)} MiB); ${advice}, and take it out of the folder`
    return { code: 'too_large', reason }
  }

  async function findOwner(): Promise<Awaited<ReturnType<DropFolderDeps['owner']>> | undefined> {
    try {
      const owner = await deps.owner()
      problems.end('accounts')
      return owner
    } catch (error) {
      const sentence = `drop folder: files wait, the accounts cannot be read (${errorLine(error)})`
      problems.begin('accounts', sentence, error)
      return undefined
    }
  }

  /** Claims the folder for the database and returns whether that succeeded: two databases would send each file twice. */
  async function isClaimed(database: DatabaseIdentity): Promise<boolean> {
    const foreign = await claimFolder(dir, database)
    if (!foreign) problems.end('other_database')
    else
      problems.begin('other_database', `drop folder: ${foreign.found}; files in it wait; run: ${foreign.run}`)
    return foreign === undefined
  }

  /** Returns whether this process watches the folder: also two copies of one database would send each file twice. */
  async function isFirst(): Promise<boolean> {
    const wasStandby = isStandby
    isStandby = !(await lock.acquire())
    if (isStandby && !wasStandby) log.info({ dir }, 'another process watches the drop folder')
    return !isStandby
  }

  async function checkWritable(): Promise<void> {
    if (afterUpload === 'keep') return
    try {
      await closeAfter(await openFolder(dir), (folder) => folder.assertWritable())
      if (!seen.hasUnmoved()) problems.end('read_only')
    } catch (error) {
      const sentence = `drop folder: ${dir} is read-only, so finished files stay in it; make it writable, or set MUSETTE_AFTER_UPLOAD=keep`
      problems.begin('read_only', sentence, error)
    }
  }

  function reportUnreadable({ unreadable: [first, ...others] }: WalkResult) {
    if (!first) return problems.end('unreadable')
    const rest = others.length > 0 ? `, and ${others.length} more` : ''
    const sentence = `drop folder: the folder ${first.folder} in it cannot be read (${errorLine(first.error)})${rest}; files in it wait`
    problems.begin('unreadable', sentence, first.error)
  }

  return {
    scan,
    /** Ends the pauses of all waiting files and scans: the service is back, or an account has signed in. */
    async retryWaiting() {
      seen.endWaits()
      await scan()
    },
    /** Returns when the walk over the folder began that is under way; undefined between walks. */
    walkingSince: () => walkBegan,
    async close() {
      abort.abort()
      timer.close()
      await watch.close()
      await walking
      // A walk that was under way may have opened a new watch.
      await watch.close()
      await Promise.all(working)
      await moved.moveChangedBack()
      await lock.release()
    },
  }
}

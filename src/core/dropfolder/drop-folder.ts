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
  /** returns the database that uses the folder, and the names of its signed-in accounts; files of other accounts wait */
  owner: () => Promise<{ database: DatabaseIdentity; accounts: string[] }>
  importFile: ImportFile
  /** finds the program that has a file open for writing; replaced in tests */
  readWriter?: ReadWriter
  /** receives the waiting files and the problems after each scan */
  show?: (report: FolderReport) => Promise<void>
}

export type DropFolderOptions = {
  dir: string
  /** for network shares that report no changes: scans the folder every few seconds instead of watching it */
  polling: boolean
  afterUpload: 'move' | 'keep'
  isDroppable: (name: string) => boolean
  /** how long a file's size and times must stay unchanged before it is at rest */
  restMs?: number
  scanEveryMs?: number
  concurrency?: number
  maxBytes?: number
}

/** Mode of the drop folder if musette creates it. Other users have no access, because rides show where a person lives. Folders created inside it get the drop folder's mode. */
export const DROP_MODE = 0o700
/** How long a file must stay unchanged before it is read. Only the check for a whole FIT file decides whether the file is imported; this wait avoids useless reads. */
const REST_MS = SECOND
const SCAN_EVERY_MS = MINUTE
const POLL_EVERY_MS = 5 * SECOND
/** Pause between scans if the system reports only some changes or none. Walks over 20,000 files then use 2 % of a core. */
const UNWATCHED_EVERY_MS = 15 * SECOND
const CONCURRENCY = 4
/** Maximum number of claimed files, because 100,000 would take a gigabyte of memory. */
const MAX_AT_WORK = 2_000
const MIB = 1_024 * 1_024
/** Maximum size of a file, because a slow disk takes minutes to read a larger file. Archives may be larger, because only their FIT files are read. */
const MAX_BYTES = 256 * MIB
const MAX_ARCHIVE_BYTES = 16_384 * MIB

/**
 * Opens the drop folder: creates it if missing, watches it, and scans it at once, after every change and every minute. Passes each file at
 * rest to `importFile`, never the same file twice at a time. Events are hints, the scan is the truth. In `move` mode an imported file goes to
 * `done/<year-month>/` or `failed/` in its account's folder. In `keep` mode files stay, and an unchanged file is imported again only after a
 * restart. A folder that another database uses is left alone. Only one process watches the folder. Never throws for problems with
 * the folder; `show` reports them.
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
  /** Whether another process watches the folder. This process then reports nothing, and takes over when the other process exits. */
  let isStandby = false

  // If the folder cannot be created, the scan reports it.
  await openFolder(dir, { mode: DROP_MODE })
    .then((folder) => folder.close())
    .catch((error: unknown) =>
      log.debug({ dir, reason: errorLine(error) }, 'could not create the drop folder'),
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

  /** Walks the folder once and starts work on the files it finds. Returns how many files it started. Never throws. */
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
      // Imports a backlog in the order of its activities, as far as the modification times show that order.
      walked.found.sort((a, b) => a.identity.mtimeMs - b.identity.mtimeMs)
      return abort.signal.aborted ? 0 : startAll(walked.found)
    } catch (error) {
      const sentence = `drop folder: ${dir} cannot be scanned (${errorLine(error)}); the next scan retries`
      problems.begin('unreadable', sentence, error)
      return 0
    } finally {
      walkBegan = undefined
    }
  }

  /** Starts work on the files in order until MAX_AT_WORK are claimed; a later walk finds the rest. Returns how many it started. */
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

  /** Starts the work that is due on one file; returns false if there is none. */
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

  /** Returns why a file waits until it is changed or renamed; undefined if it need not wait. */
  function whyLeft({ name, identity }: Found): WaitReason | undefined {
    const program = unfinishedBy(name)
    if (program !== undefined) {
      const reason = `${program} uses this name for unfinished files; if this file is complete, rename it to end in .fit, .fit.gz or .zip`
      return { code: 'unfinished_name', reason }
    }
    const isArchive = /\.(zip|gz)~?$/i.test(name)
    const max = options.maxBytes ?? (isArchive ? MAX_ARCHIVE_BYTES : MAX_BYTES)
    if (identity.size <= max) return undefined
    const advice = isArchive ? 'split it into smaller archives' : 'check that it is a FIT file'
    const reason = `too large to be read (more than ${Math.floor(max / MIB)} MiB); ${advice}, and remove it from the folder`
    return { code: 'too_large', reason }
  }

  async function findOwner(): Promise<Awaited<ReturnType<DropFolderDeps['owner']>> | undefined> {
    try {
      const owner = await deps.owner()
      problems.end('accounts')
      return owner
    } catch (error) {
      const sentence = `drop folder: files wait because the accounts cannot be read (${errorLine(error)})`
      problems.begin('accounts', sentence, error)
      return undefined
    }
  }

  /** Claims the folder for this database and reports whether it succeeded. Without the claim, two databases would upload each file twice. */
  async function isClaimed(database: DatabaseIdentity): Promise<boolean> {
    const foreign = await claimFolder(dir, database)
    if (!foreign) problems.end('other_database')
    else
      problems.begin('other_database', `drop folder: ${foreign.found}; files in it wait; run: ${foreign.run}`)
    return foreign === undefined
  }

  /** Reports whether this process watches the folder. Two copies of one database would also upload each file twice. */
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
      const sentence = `drop folder: ${dir} is read-only, so imported files stay in it; make it writable, or set MUSETTE_AFTER_UPLOAD=keep`
      problems.begin('read_only', sentence, error)
    }
  }

  function reportUnreadable({ unreadable: [first, ...others] }: WalkResult) {
    if (!first) return problems.end('unreadable')
    const rest = others.length > 0 ? `, and ${others.length} more` : ''
    const sentence = `drop folder: cannot read the folder ${first.folder} in it (${errorLine(first.error)})${rest}; files in it wait`
    problems.begin('unreadable', sentence, first.error)
  }

  return {
    scan,
    /** Ends all pauses and scans, because the service is back or an account has signed in. */
    async retryWaiting() {
      seen.endWaits()
      await scan()
    },
    /** Returns when the current walk began; undefined between walks. */
    walkingSince: () => walkBegan,
    async close() {
      abort.abort()
      timer.close()
      await watch.close()
      await walking
      // The last walk may have opened a new watch.
      await watch.close()
      await Promise.all(working)
      await moved.moveChangedBack()
      await lock.release()
    },
  }
}

import { access, constants, mkdir } from 'node:fs/promises'
import type { Logger } from 'pino'
import { errorLine } from '../kit/errors.ts'
import { type Clock, MINUTE, SECOND } from '../kit/time.ts'
import { endFound, type TakeFile, takeFound } from './claim-file.ts'
import { makeFinisher } from './move-leftovers.ts'
import { makeProblems } from './problems.ts'
import { type FolderReport, makeReporter } from './report.ts'
import { makeTurns, makeWake } from './scan-timer.ts'
import { makeMemory } from './seen-files.ts'
import { type Found, type Walked, walkDropped } from './walk.ts'

import { makeWatched } from './watch.ts'

export type { AfterFile, DroppedFile, OpenFile, TakeFile } from './claim-file.ts'
export type { FolderReport } from './report.ts'

export type DropFolder = {
  /** One whole scan; resolves when every file at rest that it found was taken and moved. */
  scan(): Promise<void>
  /** What is wrong with the folder now (vanished, read-only, not watched), as a sentence with what to do. */
  problem(): string | undefined
  /** Relative paths of files that are not whole yet or will be tried again. */
  waiting(): string[]
  /** Takes every waiting file again now: the service is back, or somebody signed in. */
  requeue(): Promise<void>
  close(): Promise<void>
}

type DropFolderDeps = {
  log: Logger
  now: Clock
  /** names of the accounts that are signed in; files of others wait */
  accounts: () => Promise<string[]>
  take: TakeFile
  /** shows what waits and what is wrong, after each scan */
  show?: (report: FolderReport) => Promise<void>
}

export type DropFolderOptions = {
  dir: string
  /** for shares that tell of no changes: the folder is scanned every few seconds instead */
  polling: boolean
  afterUpload: 'move' | 'keep'
  isDroppable: (name: string) => boolean
  /** a file whose size and times did not change for so long is at rest */
  restMs?: number
  scanEveryMs?: number
  /** files taken at once */
  concurrency?: number
  maxBytes?: number
}

/** Writers pause for a second or so between blocks; the whole-FIT test decides, this only spares it half-written files. */
const REST_MS = 2 * SECOND
const SCAN_EVERY_MS = MINUTE
const POLL_EVERY_MS = 5 * SECOND
/** When the system tells nothing, or not all: a walk over 20,000 files is then a fiftieth of a core. */
const UNTOLD_EVERY_MS = 15 * SECOND
const CONCURRENCY = 4
const MIB = 1_024 * 1_024
/** Far above any archive of rides; to read more takes a slow disk minutes. */
const MAX_BYTES = 256 * MIB

/** Makes the folder where there is none. Where it cannot be made, `DropFolder.problem` says so. */
export async function makeDropFolder(log: Logger, dir: string): Promise<void> {
  await mkdir(dir, { recursive: true }).catch((error: unknown) =>
    log.debug({ dir, reason: errorLine(error) }, 'the drop folder could not be made'),
  )
}

/**
 * Opens the drop folder: makes it when it is not there, watches it, scans it now, after every change and every minute, and
 * hands each file at rest to `take`, exactly one hand at a time. Events are hints, the scan is the truth. In `move` mode
 * a taken file goes to `done/<year-month>/` or `failed/` below its account's folder; in `keep` mode nothing is touched
 * and an unchanged file is not taken again until a restart. Never throws for what is wrong with the folder: see `problem`.
 */
export async function openDropFolder(deps: DropFolderDeps, options: DropFolderOptions): Promise<DropFolder> {
  const { log, now } = deps
  const { dir, afterUpload, restMs = REST_MS } = options
  const abort = new AbortController()
  const memory = makeMemory({ restMs })
  const problems = makeProblems(log, now)
  const turns = makeTurns(options.concurrency ?? CONCURRENCY)
  const reporter = makeReporter({ log, memory, problems, ...(deps.show && { show: deps.show }) }, dir)
  const finishMoves = makeFinisher(log)
  const working = new Set<Promise<void>>()
  const every = options.scanEveryMs ?? SCAN_EVERY_MS
  const wake = makeWake({
    scan: () => scan(),
    everyMs: () => {
      if (options.polling) return Math.min(every, POLL_EVERY_MS)
      return watched.isTold() ? every : Math.min(every, UNTOLD_EVERY_MS)
    },
  })
  const watched = makeWatched({ problems, onHint: () => wake.soon() }, options)
  const takeOptions = { dir, afterUpload, signal: abort.signal, wakeSoon: () => wake.in(restMs) }
  let walking: Promise<unknown> = Promise.resolve()
  let strangers: string[] = []

  await makeDropFolder(log, dir)
  wake.in(0)

  async function scan(): Promise<void> {
    const walk = walking.then(() => (abort.signal.aborted ? 0 : wake.timed(walkOnce)))
    walking = walk.then(report)
    await walking
    if (working.size === 0) return
    await Promise.all(working)
    await report()
  }

  async function report(): Promise<void> {
    if (!abort.signal.aborted) await reporter.report(now().getTime(), strangers)
  }

  /** Walks once and begins what is to be done; returns with how many files. Never throws. */
  async function walkOnce(): Promise<number> {
    try {
      if (!(await watched.check())) return 0
      const accounts = await listAccounts()
      if (!accounts) return 0
      await checkWritable()
      memory.beginWalk()
      const walked = await walkDropped(dir, { accounts, isDroppable: options.isDroppable })
      await watched.follow(walked.entries)
      if (afterUpload === 'move') await finishMoves(walked)
      sayAbout(walked)
      memory.keepOnly(new Set(walked.found.map((found) => found.key)))
      // Years of rides go in the order they were ridden, as far as the disk knows it.
      walked.found.sort((a, b) => a.identity.mtimeMs - b.identity.mtimeMs)
      return abort.signal.aborted ? 0 : walked.found.filter(start).length
    } catch (error) {
      const sentence = `drop folder: ${dir} cannot be scanned (${errorLine(error)}); it is tried again at the next scan`
      problems.begin('unreadable', sentence, error)
      return 0
    }
  }

  /** Begins what is to be done with one file; false when there is nothing. */
  function start(found: Found): boolean {
    const decision = memory.decide(found, now().getTime())
    if (decision.do === 'nothing') {
      if (decision.againMs !== undefined) wake.in(decision.againMs)
      return false
    }
    if (isTooLarge(found)) return false
    memory.recordTaking(found)
    const all = { log, now, take: deps.take, memory, problems }
    const work = turns(() =>
      decision.do === 'take'
        ? takeFound(all, takeOptions, found)
        : endFound(all, takeOptions, found, decision.ending),
    )
    working.add(work)
    void work.finally(() => working.delete(work))
    return true
  }

  function isTooLarge(found: Found): boolean {
    const most = options.maxBytes ?? MAX_BYTES
    if (found.identity.size <= most) return false
    const isArchive = /\.(zip|gz)$/i.test(found.name)
    const advice = isArchive ? 'drop its files in smaller archives' : 'check that it is a FIT file'
    const reason = `too large to be read (more than ${Math.floor(most / MIB)} MiB); ${advice}, and take it out of the folder`
    memory.recordLeft(found, { code: 'too_large', reason })
    return true
  }

  async function listAccounts(): Promise<string[] | undefined> {
    try {
      const accounts = await deps.accounts()
      problems.end('accounts')
      return accounts
    } catch (error) {
      problems.begin(
        'accounts',
        `drop folder: files wait, the accounts cannot be read (${errorLine(error)})`,
        error,
      )
      return undefined
    }
  }

  async function checkWritable(): Promise<void> {
    if (afterUpload === 'keep') return
    try {
      await access(dir, constants.W_OK)
      if (!memory.hasEndings()) problems.end('read_only')
    } catch (error) {
      const sentence = `drop folder: ${dir} is read-only, so finished files stay in it; make it writable, or set MUSETTE_AFTER_UPLOAD=keep`
      problems.begin('read_only', sentence, error)
    }
  }

  function sayAbout(walked: Walked): void {
    const [first] = walked.unreadable
    if (first) {
      const sentence = `drop folder: the folder ${first.folder} in it cannot be read (${errorLine(first.error)}); files in it wait`
      problems.begin('unreadable', sentence, first.error)
    } else {
      problems.end('unreadable')
    }
    strangers = walked.strangers
  }

  return {
    scan,
    problem: () => problems.current()?.sentence,
    waiting: () => memory.waiting(),
    async requeue() {
      memory.endPauses()
      await scan()
    },
    async close() {
      abort.abort()
      wake.close()
      await watched.close()
      await walking
      // A walk that was under way may have opened a watch meanwhile.
      await watched.close()
      await Promise.all(working)
    },
  }
}

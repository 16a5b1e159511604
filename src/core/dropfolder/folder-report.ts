import type { Logger } from 'pino'
import { ACCOUNT_NAMES, errorLine, isAccountName } from '../../kit/errors.ts'
import { quoteName } from '../../kit/text.ts'
import { type Clock, MINUTE } from '../../kit/time.ts'
import type { SeenFiles, Waiting } from './seen-files.ts'
import type { WalkResult } from './walk-folder.ts'

/** Current problems of the folder and its waiting files, most serious and oldest first. */
export type FolderReport = readonly Waiting[]

/** How long a file waits before it is reported, because most waiting files are still being written or a person is fixing them. */
const REPORT_AFTER_MS = MINUTE
/** Codes of files that are being written. Such files are shown but not logged, because recorders may pause for hours. */
const QUIET: readonly string[] = ['open_file', 'settling']
/** Code of entries that are not FIT files. These entries are shown, but no check or message counts them. */
const NOT_TAKEN = 'not_taken'
/** Maximum lines logged at once; thousands of waiting files usually share one reason. */
const MAX_LINES = 10

type LeftBehind = Pick<WalkResult, 'unownedFolders' | 'leftOut' | 'leftOutCount'>

/** Reports waiting files: logs each once it has waited a minute, and again when its reason changes or ends. */
export function makeReporter(
  deps: {
    log: Logger
    seen: SeenFiles
    problems: Problems
    show?: (report: FolderReport) => Promise<void>
  },
  dir: string,
) {
  const { log, seen, problems } = deps
  const logged = new Map<string, string>()
  const since = new Map<string, number>()
  let hasLeftOut = false

  function logChanges(waiting: readonly Waiting[]): void {
    const news = waiting.filter(({ relativePath, reason }) => logged.get(relativePath) !== reason)
    for (const { relativePath: file, code, reason } of news.slice(0, MAX_LINES)) {
      log.warn({ file, code }, `${file} waits: ${reason}`)
    }
    const more = news.length - MAX_LINES
    if (more > 0) log.warn({ files: more }, `${more} more files wait; run: musette status`)
    const now = new Map(waiting.map(({ relativePath, reason }) => [relativePath, reason]))
    const ended = [...logged.keys()].filter((file) => !now.has(file))
    for (const file of ended.slice(0, MAX_LINES)) log.info({ file }, `${file} no longer waits`)
    if (ended.length > MAX_LINES) log.info({ files: ended.length }, 'files no longer wait')
    logged.clear()
    for (const [file, reason] of now) logged.set(file, reason)
  }

  /** Logs one line when the first entries are skipped, regardless of how many follow. */
  function logLeftOut({ leftOut: [first], leftOutCount: files }: LeftBehind): void {
    if (first && !hasLeftOut) {
      const sentence = `drop folder: ${quoteName(first.relativePath)} is not imported: ${first.reason}`
      log.warn({ files }, files > 1 ? `${sentence}; ${files - 1} more, run: musette status` : sentence)
    }
    hasLeftOut = first !== undefined
  }

  return {
    /** Logs the changes, and passes the whole report to `show`. Never throws. */
    async report(nowMs: number, left: LeftBehind): Promise<void> {
      const { unownedFolders, leftOut, leftOutCount } = left
      logLeftOut(left)
      const known = new Set([...unownedFolders, ...leftOut.map(({ relativePath }) => relativePath)])
      for (const path of since.keys()) if (!known.has(path)) since.delete(path)
      const sinceOf = (path: string) => {
        const first = since.get(path) ?? nowMs
        since.set(path, first)
        return first
      }
      const unowned = unownedFolders.map(
        (folder): Waiting => ({
          ...{ code: 'no_account', reason: describeUnowned(folder) },
          ...{ relativePath: folder, account: null, sizeBytes: null, sinceMs: sinceOf(folder) },
        }),
      )
      const waiting = [...unowned, ...seen.waitingSince(nowMs - REPORT_AFTER_MS)]
      logChanges(waiting.filter(({ code }) => !QUIET.includes(code)))
      const more = leftOutCount - leftOut.length
      const rest = {
        relativePath: `${more} more`,
        account: null,
        reason: 'they are skipped for the same kinds of reasons',
      }
      const notTaken = [...leftOut, ...(more > 0 ? [rest] : [])].map(
        (each): Waiting => ({
          ...{ ...each, code: NOT_TAKEN, sizeBytes: null },
          sinceMs: sinceOf(each.relativePath),
        }),
      )
      // A problem with the whole folder was logged when it began.
      const problem = problems.current()
      const whole = problem && {
        ...{ code: problem.kind, reason: problem.sentence, sinceMs: problem.sinceMs },
        ...{ relativePath: dir, account: null, sizeBytes: null },
      }
      await deps
        .show?.([...(whole ? [whole] : []), ...waiting, ...notTaken])
        .catch((error: unknown) => log.debug({ reason: errorLine(error) }, 'drop folder: report not shown'))
    },
  }
}

/**
 * Describes a folder whose files belong to no account, with the command to run. A folder in the drop folder belongs to the account with its
 * name, so a folder named after a year waits for an account with that name. `.` is the drop folder itself.
 */
function describeUnowned(folder: string): string {
  if (folder === '.') return 'files in the drop folder wait: no account is signed in; run: musette login'
  const why = `files in the folder ${folder} wait, because folders here are named after accounts`
  return isAccountName(folder)
    ? `${why} and no account has that name; move them one folder up, or run: musette login ${folder}`
    : `${why} and no account can have that name (${ACCOUNT_NAMES}); move them one folder up`
}

type ProblemKind = (typeof GRAVEST_FIRST)[number]

type Problem = { kind: ProblemKind; sentence: string; sinceMs: number }

export type Problems = ReturnType<typeof makeProblems>

/** Kinds of problems with the folder as a whole, most serious first. */
const GRAVEST_FIRST = [
  'vanished',
  'accounts',
  'other_database',
  'read_only',
  'text',
  'unreadable',
  'watch',
] as const

export function makeProblems(log: Logger, now: Clock) {
  const kept = new Map<ProblemKind, Problem>()
  return {
    /** Logs and keeps a problem; does nothing if a problem of this kind is already kept. */
    begin(kind: ProblemKind, sentence: string, error?: unknown) {
      // One state of the disk causes several errors; the first sentence stays until the state ends.
      if (kept.has(kind)) return
      kept.set(kind, { kind, sentence, sinceMs: now().getTime() })
      log.warn({ problem: kind, ...(error !== undefined && { reason: errorLine(error) }) }, sentence)
    },
    end(kind: ProblemKind) {
      const problem = kept.get(kind)
      if (kept.delete(kind)) log.info({ problem: kind }, `over: ${problem?.sentence}`)
    },
    current() {
      const kind = GRAVEST_FIRST.find((each) => kept.has(each))
      return kind && kept.get(kind)
    },
  }
}

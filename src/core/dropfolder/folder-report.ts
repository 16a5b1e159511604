import type { Logger } from 'pino'
import { ACCOUNT_NAMES, errorLine, isAccountName } from '../../kit/errors.ts'
import { quoteName } from '../../kit/text.ts'
import { type Clock, MINUTE } from '../../kit/time.ts'
import type { SeenFiles, Waiting } from './seen-files.ts'
import type { WalkResult } from './walk-folder.ts'

/** What is wrong with the folder and which files wait in it now, the gravest and oldest first. */
export type FolderReport = readonly Waiting[]

/** A waiting file is reported after this long: most are being written, or are mended by a person at this moment. */
const REPORT_AFTER_MS = MINUTE
/** The codes of files that are being written: recorders pause now and then for hours, so these are shown and not logged. */
const QUIET: readonly string[] = ['open_file', 'settling']
/** The code of what is no FIT file: it is shown, and no check or message counts it. */
const NOT_TAKEN = 'not_taken'
/** The most lines logged at once; thousands of waiting files share one reason as a rule. */
const MAX_LINES = 10

type LeftBehind = Pick<WalkResult, 'unownedFolders' | 'leftOut' | 'leftOutCount'>

/** Makes the reporter of waiting files: each is logged once when it has waited a minute, and again when its reason changes or ends. */
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
    for (const file of ended.slice(0, MAX_LINES)) log.info({ file }, `${file} waits no more`)
    if (ended.length > MAX_LINES) log.info({ files: ended.length }, 'files wait no more')
    logged.clear()
    for (const [file, reason] of now) logged.set(file, reason)
  }

  /** Logs one line when the first entries are left out, however many follow. */
  function logLeftOut({ leftOut: [first], leftOutCount: files }: LeftBehind): void {
    if (first && !hasLeftOut) {
      const sentence = `drop folder: ${quoteName(first.relativePath)} is not taken: ${first.reason}`
      log.warn({ files }, files > 1 ? `${sentence}; ${files - 1} more: musette status` : sentence)
    }
    hasLeftOut = first !== undefined
  }

  return {
    /** Logs the changes, and passes on the whole report. Never throws. */
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
        reason: 'they are left out for such reasons',
      }
      const notTaken = [...leftOut, ...(more > 0 ? [rest] : [])].map(
        (each): Waiting => ({
          ...{ ...each, code: NOT_TAKEN, sizeBytes: null },
          sinceMs: sinceOf(each.relativePath),
        }),
      )
      // A problem of the whole folder was logged when it began.
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
 * Describes a folder whose files belong to no account, with the command to type: a folder in the drop folder belongs to
 * the account of its name, so a folder named after a year waits for an account of that name. `.` is the drop folder itself.
 */
function describeUnowned(folder: string): string {
  if (folder === '.') return 'files in the drop folder wait: no account is signed in; run: musette login'
  const why = `files in the folder ${folder} wait, because folders here are named after accounts`
  return isAccountName(folder)
    ? `${why} and there is no account of that name; move them one folder up, or run: musette login ${folder}`
    : `${why} and none can have that name (${ACCOUNT_NAMES}); move them one folder up`
}

type ProblemKind = (typeof GRAVEST_FIRST)[number]

type Problem = { kind: ProblemKind; sentence: string; sinceMs: number }

export type Problems = ReturnType<typeof makeProblems>

/** The kinds of problems of the folder as a whole. */
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
    /** Logs and keeps a problem; nothing when one of its kind is kept already. */
    begin(kind: ProblemKind, sentence: string, error?: unknown) {
      // One state of the disk gives several errors; the first sentence stays until it is over.
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

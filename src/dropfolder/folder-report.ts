import type { Logger } from 'pino'
import { ACCOUNT_NAMES, errorLine, isAccountName } from '../kit/errors.ts'
import { type Clock, MINUTE } from '../kit/time.ts'
import type { SeenFiles, Waiting } from './seen-files.ts'

/** What is wrong with the folder and which files wait in it now, the gravest and oldest first. */
export type FolderReport = readonly Waiting[]

type Reporter = {
  /** Logs what has changed, and hands over the whole report. Never throws. */
  report(nowMs: number, unownedFolders: readonly string[]): Promise<void>
}

/** A waiting file is reported after this long: most are being written, or are mended by a person at this moment. */
const REPORT_AFTER_MS = MINUTE
/** The codes of files that are being written: recorders pause now and then for hours, so these are shown and not logged. */
const QUIET: readonly string[] = ['open_file', 'settling']
/** The most lines logged at once; thousands of waiting files share one reason as a rule. */
const MAX_LINES = 10

/** Makes the reporter of waiting files: each is logged once when it has waited a minute, and again when its reason changes or ends. */
export function makeReporter(
  deps: {
    log: Logger
    seen: SeenFiles
    problems: Problems
    show?: (report: FolderReport) => Promise<void>
  },
  dir: string,
): Reporter {
  const { log, seen, problems } = deps
  const logged = new Map<string, string>()
  const since = new Map<string, number>()

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

  return {
    async report(nowMs, unownedFolders) {
      for (const folder of since.keys()) if (!unownedFolders.includes(folder)) since.delete(folder)
      const sinceOf = (folder: string) => {
        const first = since.get(folder) ?? nowMs
        since.set(folder, first)
        return first
      }
      const waiting = [
        ...describeUnownedFolders(unownedFolders, sinceOf),
        ...seen.waitingSince(nowMs - REPORT_AFTER_MS),
      ]
      logChanges(waiting.filter(({ code }) => !QUIET.includes(code)))
      const problem = problems.current()
      // A problem of the whole folder was logged when it began.
      const whole = problem && {
        code: problem.kind,
        reason: problem.sentence,
        relativePath: dir,
        account: null,
        sizeBytes: null,
        sinceMs: problem.sinceMs,
      }
      await deps
        .show?.(whole ? [whole, ...waiting] : waiting)
        .catch((error: unknown) => log.debug({ reason: errorLine(error) }, 'drop folder: report not shown'))
    },
  }
}

/**
 * Describes the folders whose files belong to no account, with the command to type: a folder in the drop folder belongs to
 * the account of its name, so a folder named after a year waits for an account of that name. `.` is the drop folder itself.
 */
function describeUnownedFolders(folders: readonly string[], sinceOf: (folder: string) => number): Waiting[] {
  return folders.map((folder) => ({
    code: 'no_account',
    reason: describeUnowned(folder),
    relativePath: folder,
    account: null,
    sizeBytes: null,
    sinceMs: sinceOf(folder),
  }))
}

function describeUnowned(folder: string): string {
  if (folder === '.') return 'files in the drop folder wait, because nobody is signed in; run: musette login'
  const why = `files in the folder ${folder} wait, because folders here are named after accounts`
  return isAccountName(folder)
    ? `${why} and there is none of that name; move them one folder up, or run: musette login ${folder}`
    : `${why} and none can have that name (${ACCOUNT_NAMES}); move them one folder up`
}

/** The kinds of problems of the folder as a whole. */
type ProblemKind = 'vanished' | 'other_database' | 'read_only' | 'text' | 'watch' | 'unreadable' | 'accounts'

type Problem = { kind: ProblemKind; sentence: string; sinceMs: number }

export type Problems = {
  /** logs and keeps a problem; nothing when one of its kind is kept already */
  begin(kind: ProblemKind, sentence: string, error?: unknown): void
  /** logs that a problem is over; nothing when there was none */
  end(kind: ProblemKind): void
  /** the gravest current problem */
  current(): Problem | undefined
}

const GRAVEST_FIRST: readonly ProblemKind[] = [
  'vanished',
  'accounts',
  'other_database',
  'read_only',
  'text',
  'unreadable',
  'watch',
]

/** Makes the list of the folder's current problems. */
export function makeProblems(log: Logger, now: Clock): Problems {
  const kept = new Map<ProblemKind, Problem>()
  return {
    begin(kind, sentence, error) {
      // One state of the disk gives several errors; the first sentence stays until it is over.
      if (kept.has(kind)) return
      kept.set(kind, { kind, sentence, sinceMs: now().getTime() })
      log.warn({ problem: kind, ...(error !== undefined && { reason: errorLine(error) }) }, sentence)
    },
    end(kind) {
      const problem = kept.get(kind)
      if (!kept.delete(kind)) return
      log.info({ problem: kind }, `over: ${problem?.sentence}`)
    },
    current() {
      const kind = GRAVEST_FIRST.find((each) => kept.has(each))
      return kind && kept.get(kind)
    },
  }
}

import type { Logger } from 'pino'
import { errorLine } from '../kit/errors.ts'
import { MINUTE } from '../kit/time.ts'
import { describeStrangers, type Problems } from './problems.ts'
import type { Memory, Waiting } from './seen-files.ts'

/** What waits in the folder and what is wrong with it now, for whoever shows it; the gravest and oldest first. */
export type FolderReport = readonly Waiting[]

type Reporter = {
  /** Says what is new in the log, and hands the whole over. Never throws. */
  report(nowMs: number, strangers: readonly string[]): Promise<void>
}

/** A file that is being written, or that somebody is about to mend, is nobody's business for so long. */
const TOLD_AFTER_MS = MINUTE
/** Lines of the log at once; thousands of files of one kind are one piece of news. */
const LINES_AT_ONCE = 10

/** Makes what tells of files that wait: each once in the log when it has lasted a minute, and again when its reason changes or ends. */
export function makeReporter(
  deps: {
    log: Logger
    memory: Memory
    problems: Problems
    show?: (report: FolderReport) => Promise<void>
  },
  dir: string,
): Reporter {
  const { log, memory, problems } = deps
  const told = new Map<string, string>()
  const since = new Map<string, number>()

  function tell(waiting: readonly Waiting[]): void {
    const news = waiting.filter(({ relativePath, reason }) => told.get(relativePath) !== reason)
    for (const { relativePath: file, code, reason } of news.slice(0, LINES_AT_ONCE)) {
      log.warn({ file, code }, `${file} waits: ${reason}`)
    }
    const more = news.length - LINES_AT_ONCE
    if (more > 0) log.warn({ files: more }, `${more} more files wait; run: musette status`)
    const now = new Map(waiting.map(({ relativePath, reason }) => [relativePath, reason]))
    const ended = [...told.keys()].filter((file) => !now.has(file))
    for (const file of ended.slice(0, LINES_AT_ONCE)) log.info({ file }, `${file} waits no more`)
    if (ended.length > LINES_AT_ONCE) log.info({ files: ended.length }, 'files wait no more')
    told.clear()
    for (const [file, reason] of now) told.set(file, reason)
  }

  return {
    async report(nowMs, strangers) {
      for (const folder of since.keys()) if (!strangers.includes(folder)) since.delete(folder)
      const sinceOf = (folder: string) => {
        const first = since.get(folder) ?? nowMs
        since.set(folder, first)
        return first
      }
      const waiting = [
        ...describeStrangers(strangers, sinceOf),
        ...memory.waitingSince(nowMs - TOLD_AFTER_MS),
      ]
      tell(waiting)
      const problem = problems.current()
      // The folder itself, which problems.ts has told already.
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

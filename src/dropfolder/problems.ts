import type { Logger } from 'pino'
import { errorLine } from '../kit/errors.ts'
import type { Clock } from '../kit/time.ts'
import type { Waiting } from './seen-files.ts'

/** What can be wrong with the folder as a whole; each is said once when it begins and once when it is over. */
type ProblemKind = 'vanished' | 'read_only' | 'text' | 'watch' | 'unreadable' | 'accounts'

type Problem = { kind: ProblemKind; sentence: string; sinceMs: number }

export type Problems = {
  begin(kind: ProblemKind, sentence: string, error?: unknown): void
  end(kind: ProblemKind): void
  /** the gravest of those that hold now */
  current(): Problem | undefined
}

const GRAVEST_FIRST: readonly ProblemKind[] = [
  'vanished',
  'accounts',
  'read_only',
  'text',
  'unreadable',
  'watch',
]

/** Makes the list of what is wrong now. */
export function makeProblems(log: Logger, now: Clock): Problems {
  const held = new Map<ProblemKind, Problem>()
  return {
    begin(kind, sentence, error) {
      // One state of the disk shows in several ways; the first sentence stands until it is over.
      if (held.has(kind)) return
      held.set(kind, { kind, sentence, sinceMs: now().getTime() })
      log.warn({ problem: kind, ...(error !== undefined && { reason: errorLine(error) }) }, sentence)
    },
    end(kind) {
      const problem = held.get(kind)
      if (!held.delete(kind)) return
      log.info({ problem: kind }, `over: ${problem?.sentence}`)
    },
    current() {
      const kind = GRAVEST_FIRST.find((each) => held.has(each))
      return kind && held.get(kind)
    },
  }
}

/**
 * Describes the folders that hold files of nobody's account, with the command to type: a folder in the drop folder is an
 * account's, so one that was meant for a year waits for an account of that name. `.` is the drop folder itself.
 */
export function describeStrangers(
  folders: readonly string[],
  sinceOf: (folder: string) => number,
): Waiting[] {
  return folders.map((folder) => ({
    code: 'no_account',
    reason:
      folder === '.'
        ? 'files in the drop folder wait, because nobody is signed in; run: musette login'
        : `files in the folder ${folder} wait, because folders here are named after accounts and there is none of that name; move them one folder up, or run: musette login ${folder}`,
    relativePath: folder,
    account: null,
    sizeBytes: null,
    sinceMs: sinceOf(folder),
  }))
}

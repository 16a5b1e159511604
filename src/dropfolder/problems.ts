import type { Logger } from 'pino'
import type { Clock } from '../kit/clock.ts'
import { errorLine } from '../kit/errors.ts'

/** What can be wrong with the folder as a whole; each is said once when it begins and once when it is over. */
export type ProblemKind = 'vanished' | 'read_only' | 'text' | 'watch' | 'unreadable' | 'accounts'

export type Problem = { kind: ProblemKind; sentence: string; sinceMs: number }

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

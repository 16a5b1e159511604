import type { Logger } from 'pino'

/** What can be wrong with the folder as a whole; each is said once when it begins and once when it is over. */
export type ProblemKind = 'vanished' | 'read_only' | 'watch' | 'unreadable' | 'accounts'

export type Problems = {
  begin(kind: ProblemKind, sentence: string, error?: unknown): void
  end(kind: ProblemKind): void
  /** the gravest sentence of those that hold now */
  current(): string | undefined
}

const GRAVEST_FIRST: readonly ProblemKind[] = ['vanished', 'accounts', 'read_only', 'unreadable', 'watch']

/** Makes the list of what is wrong now. */
export function makeProblems(log: Logger): Problems {
  const held = new Map<ProblemKind, string>()
  return {
    begin(kind, sentence, error) {
      // One state of the disk shows in several ways; the first sentence stands until it is over.
      if (held.has(kind)) return
      held.set(kind, sentence)
      log.warn({ problem: kind, ...(error !== undefined && { error }) }, sentence)
    },
    end(kind) {
      const sentence = held.get(kind)
      if (!held.delete(kind)) return
      log.info({ problem: kind }, `over: ${sentence}`)
    },
    current() {
      const kind = GRAVEST_FIRST.find((each) => held.has(each))
      return kind && held.get(kind)
    },
  }
}

import { type Backoff, backoffMs, type Clock, MINUTE, SECOND } from '../../kit/time.ts'

/** A person's slip goes unnoticed; a program that guesses writes 43,000 log lines a day and no more. */
const PAUSE: Backoff = { firstMs: SECOND / 4, maxMs: 2 * SECOND, factor: 2 }
/** Slips of yesterday do not slow down today's. */
const FORGOTTEN_AFTER_MS = MINUTE

export type Attempts = {
  /** How long wrong tokens are refused unseen, in ms; 0: the next one is counted. */
  waitMs(): number
  /** Counts a wrong token, which begins the next pause. */
  recordWrong(): void
}

/** Makes the pace of wrong tokens, one for the whole process: whoever guesses, and from wherever. */
export function makeAttempts(deps: { now: Clock }): Attempts {
  let wrong = 0
  let lastAt = Number.NEGATIVE_INFINITY
  return {
    waitMs() {
      const passed = deps.now().getTime() - lastAt
      // A clock that is set back must not hold everyone for as long as it jumped.
      if (wrong === 0 || passed < 0) return 0
      return Math.max(0, backoffMs(PAUSE, wrong, () => 1) - passed)
    },
    recordWrong() {
      const now = deps.now().getTime()
      wrong = now - lastAt > FORGOTTEN_AFTER_MS ? 1 : wrong + 1
      lastAt = now
    },
  }
}

import { MINUTE } from '../../kit/durations.ts'

/** An answer can be under way for so long; one that seems older still comes from a clock that was set back. */
const UNDER_WAY_MS = 10 * MINUTE

/** Until when a row's time makes an answer asked for at `requestedAt` an older one: from there on our clock was wrong. */
export function olderUntil(requestedAt: Date): Date {
  return new Date(requestedAt.getTime() + UNDER_WAY_MS)
}

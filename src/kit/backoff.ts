/** A growing pause: `firstMs`, then `factor` times more each attempt, never above `maxMs`. */
export type Backoff = Readonly<{ firstMs: number; maxMs: number; factor: number }>

/**
 * The pause before the next attempt, in whole milliseconds (BullMQ's Postgres backend chokes on fractions).
 * `attempt` counts from 1. Half of the pause is random, so that many waiters do not come back at once.
 */
export function backoffMs(backoff: Backoff, attempt: number, random: () => number = Math.random): number {
  const full = Math.min(backoff.maxMs, backoff.firstMs * backoff.factor ** (Math.max(1, attempt) - 1))
  return Math.round(full / 2 + (random() * full) / 2)
}

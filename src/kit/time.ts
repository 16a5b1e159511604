import { setTimeout as delay } from 'node:timers/promises'

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY }

/** Parses `90s`, `15m`, `1h`, `1d`, `250ms` into milliseconds; undefined when it is none of these. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim())
  if (!match) return undefined
  const unit = UNITS[match[2] as string] as number
  return Math.round(Number(match[1]) * unit)
}

/** Writes milliseconds as a person says it, two units at most: `3 d 4 h`, `12 min 5 s`, `0.4 s`. */
export function formatDuration(ms: number): string {
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`
  const parts: Array<[number, string]> = [
    [Math.floor(ms / DAY), 'd'],
    [Math.floor((ms % DAY) / HOUR), 'h'],
    [Math.floor((ms % HOUR) / MINUTE), 'min'],
    [Math.floor((ms % MINUTE) / SECOND), 's'],
  ]
  const first = parts.findIndex(([count]) => count > 0)
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}

/**
 * Waits for work at most `ms` and tells whether it ended in time. A failure of the work is thrown when it comes in time; a
 * later one is ignored.
 */
export async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  const timer = new AbortController()
  const late = sleep(ms, timer.signal).then(
    () => false,
    () => false,
  )
  work.catch(() => undefined)
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    timer.abort()
  }
}

/**
 * Waits for a promise that others share; an abort of the signal ends the waiting, never the work, and throws the signal's
 * reason.
 */
export async function waitFor<T>(shared: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return shared
  signal.throwIfAborted()
  let stop: () => void = () => undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([shared, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** A pause that ends early, by throwing the signal's reason, when the signal aborts. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>

export const sleep: Sleep = async (ms, signal) => {
  try {
    await delay(ms, undefined, signal ? { signal } : undefined)
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}

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

/** The present moment; handed in, so that tests can turn it. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()

/** Parses a day as a person types it, `2024-01-31`, to its first moment in UTC; undefined when there is no such day. */
export function parseDay(text: string): Date | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined
  const day = new Date(`${text}T00:00:00Z`)
  // Date takes 31 February for 2 March.
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text) ? day : undefined
}

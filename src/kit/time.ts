import { setMaxListeners } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY }

/** Parses a duration such as `90s`, `15m`, `1h`, `1d` or `250ms` to ms; undefined for any other string. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim())
  if (!match) return undefined
  const unit = UNITS[match[2] as string] as number
  return Math.round(Number(match[1]) * unit)
}

/** Formats how long ago a moment was. A future moment counts as now. */
export function formatAge(at: Date, now = new Date()): string {
  return formatDuration(Math.max(0, now.getTime() - at.getTime()))
}

/** Formats milliseconds in at most two units: `3 d 4 h`, `12 min 5 s`, `0.4 s`. */
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

/** Formats a moment in UTC: `2026-11-20 17:04 UTC`. */
export function formatMoment(moment: Date): string {
  return `${moment.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** Waits at most `ms` for work, and returns whether the work ended in time. Throws the work's error if the work failed in time. Ignores a later error. */
export async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false)
  })
  work.catch(() => undefined)
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}

/** Waits for a promise that several callers share. If the signal aborts, throws the signal's reason; the other callers keep waiting. */
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

/**
 * Joins signals into one that aborts with the first of them, by its own `abort`, or after `ms` with an error of code `ETIMEDOUT`. The
 * caller must call `clear` when the work ends. Use this for every timeout: Node 20 may garbage-collect the signals of AbortSignal.timeout
 * and AbortSignal.any while they are awaited, so that they never abort, and their timers keep no process running.
 */
export function joinSignals(outer: ReadonlyArray<AbortSignal | undefined>, ms?: number) {
  const controller = new AbortController()
  const over = Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' })
  const signals = outer.filter((signal) => signal !== undefined)
  const follow = () => controller.abort(signals.find(({ aborted }) => aborted)?.reason)
  const timer = ms === undefined ? undefined : setTimeout(() => controller.abort(over), ms)
  // Many callers may listen at once, and each caller removes its listener. Node also takes 0 as no limit, but fetch of undici fails with it.
  setMaxListeners(Number.POSITIVE_INFINITY, controller.signal, ...signals)
  for (const signal of signals) signal.addEventListener('abort', follow, { once: true })
  if (signals.some(({ aborted }) => aborted)) follow()
  return {
    signal: controller.signal,
    /** Reports whether the timeout aborted the signal. */
    isOver: () => controller.signal.reason === over,
    abort: (reason?: unknown) => controller.abort(reason),
    clear() {
      clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', follow)
    },
  }
}

export type JoinedSignal = ReturnType<typeof joinSignals>

/** The type of `sleep`, for functions that take it as a parameter. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>

/** Pauses for `ms`. Throws the reason of the signal if it aborts. */
export const sleep: Sleep = async (ms, signal) => {
  await delay(ms, undefined, signal && { signal }).catch((error: unknown) => {
    signal?.throwIfAborted()
    throw error
  })
}

/** Growing pauses: `firstMs` at first, multiplied by `factor` after each attempt, at most `maxMs`. */
export type Backoff = Readonly<{ firstMs: number; maxMs: number; factor: number }>

/**
 * Computes the pause before the next attempt in integer ms, because the Postgres backend of BullMQ rejects fractions. `attempt` counts from
 * 1. Half of the pause is random, so that clients do not all retry at once.
 */
export function backoffMs(backoff: Backoff, attempt: number, random: () => number = Math.random): number {
  const full = Math.min(backoff.maxMs, backoff.firstMs * backoff.factor ** (Math.max(1, attempt) - 1))
  return Math.round(full / 2 + (random() * full) / 2)
}

/** Returns the current time. Functions take it as a parameter so that tests can set it. */
export type Clock = () => Date

/** Returns the current time of this machine. */
export const systemClock: Clock = () => new Date()

/** Parses a day such as `2024-01-31` to its first moment in UTC; undefined if the calendar has no such day. */
export function parseDay(text: string): Date | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined
  const day = new Date(`${text}T00:00:00Z`)
  // Date parses 31 February as 2 March.
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text) ? day : undefined
}

/** Returns a key that is equal for zones with the same clock: the offsets in each half year since 1970. Undefined for an unknown zone. */
export function clockOf(zone: string): string | undefined {
  if (!isTimeZone(zone)) return undefined
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
  const halves = Array.from({ length: 120 }, (_, half) => Date.UTC(1970, 6 * half + 1))
  return halves.map((at) => format.format(at)).join()
}

/** Reports whether a string is an IANA time zone, such as `Europe/Berlin` or `UTC`. An offset is not. */
export function isTimeZone(text: string): boolean {
  if (!/^[a-z]/i.test(text)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: text })
    return true
  } catch {
    return false
  }
}

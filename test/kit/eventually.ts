import { setTimeout as delay } from 'node:timers/promises'

/** Maximum pause between two looks, ms. Otherwise the pause is a tenth of the time waited so far. */
const MAX_PAUSE_MS = 250

/**
 * Calls `look` until it returns something other than undefined, null or false without throwing, and returns that. After `timeoutMs` it
 * throws an error with `what` in its message and the last error as cause. It is for changes in another process or server, which cannot take
 * the clock of a test. It looks every `everyMs`, and less often the longer it waits, because most looks cost a query.
 */
export async function eventually<T>(
  look: () => Promise<T> | T,
  options: { timeoutMs?: number; everyMs?: number; what?: string } = {},
): Promise<Exclude<T, undefined | null | false>> {
  const { timeoutMs = 60_000, everyMs = 25, what = 'the expected state' } = options
  const begun = Date.now()
  let last: unknown
  for (;;) {
    try {
      last = undefined
      const seen = await look()
      if (isSomething(seen)) return seen
    } catch (error) {
      last = error
    }
    const waited = Date.now() - begun
    if (waited >= timeoutMs) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`, { cause: last })
    await delay(Math.max(everyMs, Math.min(waited / 10, MAX_PAUSE_MS)))
  }
}

function isSomething<T>(value: T): value is Exclude<T, undefined | null | false> {
  return value !== undefined && value !== null && value !== false
}

import { setTimeout as delay } from 'node:timers/promises'

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

import { sleep } from '../../kit/sleep.ts'
import { GOODBYE_MS } from '../limits.ts'

/**
 * Waits for work at most `ms` and tells whether it came to its end in time. A failure of the work is thrown when it
 * comes in time; one that comes later is of no interest any more.
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
 * Closes a queue or worker, and cuts its connections when it cannot close: a server that is gone hears no goodbye, and a
 * connection that is left open goes on calling for it and keeps the process alive. Never throws.
 */
export async function closeOrCut(part: {
  close(): Promise<unknown>
  disconnect(): Promise<unknown>
}): Promise<void> {
  const closed = await within(part.close(), GOODBYE_MS).catch(() => false)
  if (!closed) await within(part.disconnect(), GOODBYE_MS).catch(() => undefined)
}

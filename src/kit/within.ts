import { sleep } from './sleep.ts'

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

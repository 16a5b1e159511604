import { TransientError } from '../../kit/errors.ts'
import { within } from '../../kit/time.ts'

/**
 * Makes a cached probe for any number of callers: it runs once at a time, and again only `keepMs` after its last result. After `timeoutMs`
 * a caller gets TransientError `no_answer`; the probe continues, and a later caller may get its result. Errors are cached as long as
 * results, so that callers do not make an outage worse.
 */
export function makeCachedProbe<T>(
  probe: () => Promise<T>,
  { keepMs, timeoutMs }: { keepMs: number; timeoutMs?: number },
): () => Promise<T> {
  let current: { answer: Promise<T>; keptUntil: number } | undefined
  return async () => {
    if (!current || performance.now() >= current.keptUntil) {
      const started = { answer: probe(), keptUntil: Number.POSITIVE_INFINITY }
      const keep = () => {
        started.keptUntil = performance.now() + keepMs
      }
      started.answer.then(keep, keep)
      current = started
    }
    const { answer } = current
    if (timeoutMs !== undefined && !(await within(answer, timeoutMs)))
      throw new TransientError('no_answer', `no answer within ${timeoutMs} ms`)
    return answer
  }
}

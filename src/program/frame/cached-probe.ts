import { TransientError } from '../../kit/errors.ts'
import { SECOND, within } from '../../kit/time.ts'

/**
 * Makes a cached probe for any number of callers. At most one run is in progress, and its result is reused for `keepMs`, which may depend
 * on the result. Errors are cached too, so that callers do not make an outage worse. A caller gets TransientError `no_answer` after
 * `timeoutMs`; the run continues, and a later caller may get the run's result.
 */
export function makeCachedProbe<T>(
  probe: () => Promise<T>,
  { keepMs, timeoutMs }: { keepMs: number | ((answer: T) => number); timeoutMs?: number },
): () => Promise<T> {
  let current: { answer: Promise<T>; keptUntil: number } | undefined
  return async () => {
    if (!current || performance.now() >= current.keptUntil) {
      const started = { answer: probe(), keptUntil: Number.POSITIVE_INFINITY }
      const keep = (ms: number) => {
        started.keptUntil = performance.now() + ms
      }
      const msOf = typeof keepMs === 'number' ? () => keepMs : keepMs
      started.answer.then(
        (answer) => keep(msOf(answer)),
        () => keep(typeof keepMs === 'number' ? keepMs : 1 * SECOND),
      )
      current = started
    }
    const { answer } = current
    if (timeoutMs !== undefined && !(await within(answer, timeoutMs)))
      throw new TransientError('no_answer', `no answer within ${timeoutMs} ms`)
    return answer
  }
}

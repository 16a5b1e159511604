import { TransientError } from '../kit/errors.ts'
import { sleep } from '../kit/time.ts'

/**
 * Makes a probe that any number of callers may use: it runs once at a time, and again only `keepMs` after its last answer.
 * With `timeoutMs` no caller waits longer: the probe then throws TransientError `no_answer`, goes on, and the next caller may
 * get its answer. Failures are kept as long as answers, so that callers do not make an outage worse.
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
    return timeoutMs === undefined ? current.answer : await answerWithin(current.answer, timeoutMs)
  }
}

async function answerWithin<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  const answered = new AbortController()
  const late = async () => {
    await sleep(timeoutMs, answered.signal)
    throw new TransientError('no_answer', `daemon: read: no answer within ${timeoutMs} ms`)
  }
  try {
    return await Promise.race([answer, late()])
  } finally {
    answered.abort()
  }
}

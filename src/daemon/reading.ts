import { TransientError } from '../kit/errors.ts'
import { sleep } from '../kit/sleep.ts'

/**
 * Makes a reading that any number may ask for: it is read one at a time, again only `keepMs` after the last one came,
 * and nobody waits longer than `patienceMs`; then it is TransientError `no_answer`, and whoever asks next may get what is
 * still under way. Failures are kept as long as values, so that an outage is not made worse by asking.
 */
export function makeReading<T>(
  read: () => Promise<T>,
  options: { keepMs: number; patienceMs: number },
): () => Promise<T> {
  let current: { answer: Promise<T>; keptUntil: number } | undefined
  return async () => {
    if (!current || performance.now() >= current.keptUntil) {
      const started = { answer: read(), keptUntil: Number.POSITIVE_INFINITY }
      const settle = () => {
        started.keptUntil = performance.now() + options.keepMs
      }
      started.answer.then(settle, settle)
      current = started
    }
    return await patiently(current.answer, options.patienceMs)
  }
}

async function patiently<T>(answer: Promise<T>, patienceMs: number): Promise<T> {
  const answered = new AbortController()
  const late = async () => {
    await sleep(patienceMs, answered.signal)
    throw new TransientError('no_answer', `daemon: read: no answer within ${patienceMs} ms`)
  }
  try {
    return await Promise.race([answer, late()])
  } finally {
    answered.abort()
  }
}

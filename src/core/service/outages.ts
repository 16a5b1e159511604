import type { Logger } from 'pino'
import { isServiceDown } from '../../kit/errors.ts'
import { makeLogOnce } from '../../kit/log-once.ts'
import type { OnAnswer } from './transport.ts'

/** Requests in a row that fail with a 5xx before that is an outage: the service gives one for single valid objects. */
const OUTAGE_AFTER = 5

/** Makes the observer that logs once when a service stops answering, and once when it answers again, whoever asks and how often. */
export function watchOutages(log: Logger): OnAnswer {
  const problems = makeLogOnce(log)
  const failed = new Map<string, number>()
  return ({ origin, status = 0, failure }) => {
    if (failure === 'aborted') return
    const isUnreachable = failure !== undefined && isServiceDown({ code: failure })
    if (!isUnreachable && status < 500) {
      failed.delete(origin)
      problems.over(origin)
      return
    }
    const times = (failed.get(origin) ?? 0) + 1
    failed.set(origin, times)
    if (!isUnreachable && times < OUTAGE_AFTER) return
    const sentence = `the service at ${origin} does not answer; requests are tried again by themselves`
    problems.say('warn', origin, sentence, { reason: failure ?? `status ${status}` })
  }
}

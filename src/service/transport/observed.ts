import { errorCode, MusetteError } from '../../kit/errors.ts'
import type { Endpoint, RawAnswer, ServiceRequest } from './message.ts'

/** What became of one request: an answer of any status, or why there was none. It holds no object's name and no secret. */
export type Seen = {
  endpoint: Endpoint
  /** the answer's HTTP status; undefined when there was no whole answer */
  status: number | undefined
  /** the stable code of the error in place of an answer, `aborted` when we gave it up; undefined after an answer */
  failure: string | undefined
  /** how long all of it took, connecting and redirects included */
  ms: number
}

export type OnAnswer = (seen: Seen) => void

/** Runs a request and tells `onAnswer` what became of it; answer and error pass unchanged. */
export async function observed(
  onAnswer: OnAnswer | undefined,
  request: ServiceRequest,
  work: () => Promise<RawAnswer>,
): Promise<RawAnswer> {
  if (!onAnswer) return work()
  const { endpoint } = request
  const startedAt = performance.now()
  const tell = (end: Pick<Seen, 'status' | 'failure'>) =>
    onAnswer({ endpoint, ...end, ms: performance.now() - startedAt })
  try {
    const answer = await work()
    tell({ status: answer.status, failure: undefined })
    return answer
  } catch (error) {
    // Only our own errors have codes of a known number; what else comes is the signal's reason.
    tell({ status: undefined, failure: error instanceof MusetteError ? errorCode(error) : 'aborted' })
    throw error
  }
}

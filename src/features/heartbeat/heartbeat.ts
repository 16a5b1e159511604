import {
  type Answer,
  type ReceiverRequest,
  type SendOptions,
  sendRequest,
} from '../../kit/http/send-request.ts'
import { shorten } from '../../kit/text.ts'

/** Kuma takes the message as a part of the address, and shows it in one line. */
const LONGEST_KUMA_MESSAGE = 200
/** The path of the push addresses of Uptime Kuma. */
const KUMA_PATH = /\/api\/push\//
/** The answer of healthchecks.io, with status 200, for an unknown address. */
const NO_SUCH_CHECK = /^OK \(not found\)/

/**
 * Tells a monitor that a round succeeded, or failed with `problem`, one sentence. An address of an Uptime Kuma push monitor gets Kuma's
 * parameters; any other follows healthchecks.io: the address itself, or `/fail` below it with the sentence as the body. Throws only the
 * reason of the signal.
 */
export async function sendHeartbeat(
  url: string,
  { problem, ...options }: SendOptions & { problem: string | undefined },
): Promise<Answer> {
  const answer = await sendRequest(makeHeartbeatRequest(url, problem), options)
  if (!NO_SUCH_CHECK.test(answer.beginning)) return answer
  return { ...answer, failure: 'the monitor knows no check of this address' }
}

/** Makes the request of a heartbeat; the rest of the address, such as a query, stays. */
export function makeHeartbeatRequest(address: string, problem: string | undefined): ReceiverRequest {
  const url = new URL(address)
  if (KUMA_PATH.test(url.pathname)) {
    url.searchParams.set('status', problem === undefined ? 'up' : 'down')
    url.searchParams.set('msg', shorten(problem ?? 'OK', LONGEST_KUMA_MESSAGE))
    return { url: url.href, method: 'GET' }
  }
  if (problem === undefined) return { url: url.href, method: 'POST' }
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/fail`
  return {
    url: url.href,
    method: 'POST',
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: problem,
  }
}

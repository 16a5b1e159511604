import { shorten } from '../kit/text.ts'
import { type Answer, type ReceiverRequest, type SendOptions, sendRequest } from './send.ts'

/** Kuma shows a message in one line, and takes it as a part of the address. */
const LONGEST_KUMA_MESSAGE = 200
/** The path of the push addresses of Uptime Kuma. */
const KUMA_PATH = /\/api\/push\//
/** How healthchecks.io answers, with status 200, for an address of no check. */
const NO_SUCH_CHECK = /^OK \(not found\)/

/**
 * Tells a monitor that a round was in order, or with `problem`, one sentence, that it was not. The address is one of Uptime Kuma's push
 * monitors, else by the convention of healthchecks.io: the address itself, or `/fail` below it, with the sentence as the body. Throws
 * only the reason of the signal.
 */
export async function sendHeartbeat(
  url: string,
  { problem, ...options }: SendOptions & { problem: string | undefined },
): Promise<Answer> {
  const answer = await sendRequest(makeHeartbeatRequest(url, problem), options)
  if (!NO_SUCH_CHECK.test(answer.beginning)) return answer
  return { ...answer, failure: 'the monitor knows no check of this address' }
}

/** Makes the request of a heartbeat; what the address has besides, such as a query, stays. */
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

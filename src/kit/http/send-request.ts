import { type Dispatcher, fetch, type Response } from 'undici'
import { errorCode, TransientError } from '../errors.ts'
import { makeAgent, type Proxies } from '../http-agent.ts'
import { joinSignals, SECOND } from '../time.ts'

/** The time for an answer; a slow receiver delays only its own messages. */
const ANSWER_WITHIN_MS = 10 * SECOND
/** Only the status of an answer counts; the beginning of its body is for a person who tests a webhook. */
const READ_BYTES = 4_096

/** The result: `failure` says why it does not count as delivered, without address and answer. */
export type Answer = Readonly<{
  /** undefined when there was no answer */
  status: number | undefined
  failure: string | undefined
  ms: number
  /** the beginning of the answer's body, at most 4 kB */
  beginning: string
  /** the pause that the receiver requires, ms */
  retryAfterMs: number | undefined
}>

/** Makes the connections to the receivers, through the proxies if any. */
export function makeReceivers(proxies: Proxies | undefined): Dispatcher {
  return makeAgent(proxies, { connectMs: ANSWER_WITHIN_MS })
}

/** `dispatcher`: the connections to the receivers; undefined: direct ones. */
export type SendOptions = { signal: AbortSignal; dispatcher?: Dispatcher | undefined }

/** A request to a receiver: a GET has no body. */
export type ReceiverRequest = Readonly<{
  url: string
  method: 'GET' | 'POST'
  headers?: Readonly<Record<string, string>>
  body?: string
}>

/** Sends a request once, without redirects and within 10 s. Throws only the reason of the signal. */
export async function sendRequest({ url, ...request }: ReceiverRequest, { signal, dispatcher }: SendOptions) {
  const startedAt = performance.now()
  const within = joinSignals([signal], ANSWER_WITHIN_MS)
  const tookMs = () => Math.round(performance.now() - startedAt)
  try {
    const answer = await fetch(url, {
      ...request,
      redirect: 'manual',
      signal: within.signal,
      ...(dispatcher && { dispatcher }),
    })
    const beginning = await readBeginning(answer)
    const { status } = answer
    const failure = status >= 200 && status <= 299 ? undefined : `HTTP ${status}`
    return { status, failure, ms: tookMs(), beginning, retryAfterMs: retryAfterOf(answer) }
  } catch (error) {
    signal.throwIfAborted()
    const failure = within.isOver() ? `no answer within ${ANSWER_WITHIN_MS / SECOND} s` : failureOf(error)
    return { status: undefined, failure, ms: tookMs(), beginning: '', retryAfterMs: undefined }
  } finally {
    within.clear()
  }
}

/** Reads the beginning of an answer and drops the rest; the status counts even if the body breaks off. */
async function readBeginning({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    while (reader && bytes < READ_BYTES) {
      const { done, value } = await reader.read()
      if (done) break
      chunks.push(value)
      bytes += value.length
    }
  } catch {
    // The status has arrived, and nothing else counts.
  }
  await reader?.cancel().catch(() => undefined)
  return Buffer.concat(chunks).subarray(0, READ_BYTES).toString('utf8')
}

/** Uses the error's code only, because its message may contain the address; a proxy's message does not. */
function failureOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  if (cause instanceof TransientError) return cause.message
  const code = errorCode(cause)
  return `no connection (${code === 'unexpected' ? 'the address cannot be used' : code})`
}

/** After a longer pause the message would be too old. */
const LONGEST_RETRY_AFTER_S = 3_600

function retryAfterOf({ headers }: Response): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return seconds >= 0 ? Math.min(seconds, LONGEST_RETRY_AFTER_S) * SECOND : undefined
}

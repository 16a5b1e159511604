import { type Dispatcher, fetch, type Response } from 'undici'
import { errorCode, TransientError } from '../errors.ts'
import { makeAgent, type Proxies } from '../http-agent.ts'
import { joinSignals, SECOND } from '../time.ts'

/** How long a response may take, ms. A slow receiver delays only its own messages. */
const ANSWER_WITHIN_MS = 10 * SECOND
/** How much of a response body is read, bytes. Only the status counts; the text is for a person who tests a webhook. */
const READ_BYTES = 4_096

/** The result of a request. `failure`: why the request does not count as delivered, without the URL and the response; undefined if the request was delivered. */
export type Answer = Readonly<{
  /** undefined if there was no response */
  status: number | undefined
  failure: string | undefined
  ms: number
  /** the start of the response body, at most 4 kB */
  beginning: string
  /** the pause that the receiver asks for, ms */
  retryAfterMs: number | undefined
}>

/** Makes the connections to receivers, through the proxies if any. */
export function makeReceivers(proxies: Proxies | undefined): Dispatcher {
  return makeAgent(proxies, { connectMs: ANSWER_WITHIN_MS })
}

/** `dispatcher`: the connections to use; direct connections if undefined. */
export type SendOptions = { signal: AbortSignal; dispatcher?: Dispatcher | undefined }

/** A request to a receiver. A GET has no body. */
export type ReceiverRequest = Readonly<{
  url: string
  method: 'GET' | 'POST'
  headers?: Readonly<Record<string, string>>
  body?: string
}>

/** Sends a request once, without following redirects, and waits at most 10 s. Throws only the signal's reason. */
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

/** Reads the start of a response body and drops the rest. The status counts even if the body breaks off. */
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
    // The status has arrived, and only that counts.
  }
  await reader?.cancel().catch(() => undefined)
  return Buffer.concat(chunks).subarray(0, READ_BYTES).toString('utf8')
}

/** Uses only the code of an error, because its message may contain the URL. The message of a proxy error does not. */
function failureOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  if (cause instanceof TransientError) return cause.message
  const code = errorCode(cause)
  return `no connection (${code === 'unexpected' ? 'the address cannot be used' : code})`
}

/** Maximum pause, s. After a longer one the message would be out of date. */
const LONGEST_RETRY_AFTER_S = 3_600

function retryAfterOf({ headers }: Response): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return seconds >= 0 ? Math.min(seconds, LONGEST_RETRY_AFTER_S) * SECOND : undefined
}

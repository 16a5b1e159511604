import { Readable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Dispatcher } from 'undici'
import { decodeGzip } from '../../kit/decode-gzip.ts'
import { errorCode, MusetteError, UnexpectedResponseError } from '../../kit/errors.ts'
import { MAX_TEXT_BYTES } from '../../kit/json.ts'
import type { Hold, Semaphore } from '../../kit/semaphore.ts'
import { type Clock, joinSignals } from '../../kit/time.ts'
import type { Endpoint, RawAnswer, ServiceRequest, Timeouts } from './http-message.ts'
import { networkError, redirectError, tooLarge } from './service-errors.ts'

export type TransportDeps = {
  /** `get` reuses connections; `post` opens a new one for each request, because a request on a stale connection would be lost */
  dispatchers: { get: Dispatcher; post: Dispatcher }
  now: Clock
  large: LargeAnswers
  options: { timeouts: Timeouts; maxBodyBytes: number; userAgent: string }
  onAnswer?: OnAnswer | undefined
}

/** Size of the pieces in which a body is sent, bytes. */
const PIECE_BYTES = 64 * 1024
/** Maximum number of redirects that a GET follows, within its origin. */
const MAX_REDIRECTS = 3

/**
 * Sends a request and reads the whole response, with any status. Throws TransientError if the request fails below HTTP,
 * UnexpectedResponseError if the response is too large, in an unknown encoding or leads elsewhere, and the signal's reason.
 */
export async function send(deps: TransportDeps, request: ServiceRequest, signal?: AbortSignal) {
  const startedAt = performance.now()
  const { endpoint, url } = request
  const { origin } = url
  const report = (end: Pick<RequestEnd, 'status' | 'failure'>) =>
    deps.onAnswer?.({ endpoint, origin, ...end, ms: performance.now() - startedAt })
  try {
    const answer = await sendAndFollow(deps, request, signal)
    report({ status: answer.status, failure: undefined })
    return answer
  } catch (error) {
    // Our own errors have a fixed set of codes; any other error is the signal's reason.
    report({ status: undefined, failure: error instanceof MusetteError ? errorCode(error) : 'aborted' })
    throw error
  }
}

async function sendAndFollow(deps: TransportDeps, request: ServiceRequest, signal: AbortSignal | undefined) {
  const deadline = joinSignals([signal], request.totalMs ?? deps.options.timeouts.totalMs)
  const state = { answered: false, requestSent: false }
  try {
    let url = request.url
    for (let redirects = 0; ; redirects += 1) {
      deadline.signal.throwIfAborted()
      const answer = await exchange(deps, { ...request, url }, deadline.signal, state)
      if (request.redirects === 'manual') return answer
      const next = nextUrl(answer, { ...request, url, mayFollow: redirects < MAX_REDIRECTS })
      if (!next) return answer
      url = next
    }
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof MusetteError) throw error
    throw networkError(error, request.what, { ...state, origin: request.url.origin })
  } finally {
    deadline.clear()
  }
}

async function exchange(
  deps: TransportDeps,
  request: ServiceRequest,
  signal: AbortSignal,
  state: { answered: boolean; requestSent: boolean },
): Promise<RawAnswer> {
  const { timeouts, userAgent, maxBodyBytes } = deps.options
  const maxBytes = request.hasSamples ? maxBodyBytes : Math.min(maxBodyBytes, MAX_TEXT_BYTES)
  const { url, what } = request
  const requestedAt = deps.now()
  state.answered = false
  const content = request.body?.content
  state.requestSent = content === undefined || typeof content === 'string'
  const onSent = () => {
    state.requestSent = true
    request.body?.onSent?.()
  }
  const dispatcher = request.method === 'GET' ? deps.dispatchers.get : deps.dispatchers.post
  const response = await dispatcher.request({
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method: request.method,
    headers: headersOf(request, userAgent),
    // Bytes are streamed in pieces: until the last piece is taken, the request cannot have arrived.
    ...(content !== undefined && {
      body:
        typeof content === 'string'
          ? content
          : Readable.from(piecesOf(content, onSent), { objectMode: false }),
    }),
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.bodyIdleMs,
    signal,
  })
  state.answered = true
  const headers = flattenHeaders(response.headers)
  const refusal = refuseUnread(headers, what, maxBytes)
  if (refusal) {
    response.body.on('error', () => undefined).destroy()
    throw refusal
  }
  const input = { encoding: headers['content-encoding'], length: lengthOf(headers), maxBytes, what }
  const { large } = deps
  const { decoded: body, gzipped } = await readBody(response.body, { ...input, large, hold: request.hold })
  const { statusCode: status } = response
  const { requestSent } = state
  return { status, headers, body, gzipped, requestedAt, serviceTime: parseDate(headers.date), requestSent }
}

function* piecesOf(parts: readonly Uint8Array[], onLast: () => void): Generator<Uint8Array> {
  for (const [index, bytes] of parts.entries()) {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      if (index === parts.length - 1 && at + PIECE_BYTES >= bytes.length) onLast()
      yield bytes.subarray(at, at + PIECE_BYTES)
    }
  }
}

function refuseUnread(headers: RawAnswer['headers'], what: string, maxBytes: number) {
  if ((lengthOf(headers) ?? 0) > maxBytes) return tooLarge(what, maxBytes)
  if (isKnownEncoding(headers['content-encoding'])) return undefined
  const message = `${what}: the answer is compressed in an unknown way`
  return new UnexpectedResponseError('unknown_encoding', message)
}

function headersOf(request: ServiceRequest, userAgent: string): Record<string, string> {
  const { authorization, body } = request
  return {
    accept: '*/*',
    'accept-encoding': 'gzip',
    'user-agent': userAgent,
    ...(authorization !== undefined && { authorization }),
    ...(body && {
      'content-type': body.contentType,
      'content-length': String([body.content].flat().reduce((sum, part) => sum + Buffer.byteLength(part), 0)),
    }),
  }
}

function flattenHeaders(headers: Record<string, string | string[] | undefined>) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value].flat()[0]]),
  )
}

function lengthOf(headers: RawAnswer['headers']): number | undefined {
  const length = Number(headers['content-length'])
  return Number.isSafeInteger(length) && length >= 0 ? length : undefined
}

function parseDate(header: string | undefined): Date | undefined {
  const date = new Date(header ?? Number.NaN)
  return Number.isNaN(date.getTime()) ? undefined : date
}

/** The end of one request: a response with any status, or the reason for none; without object names and secrets. */
type RequestEnd = {
  endpoint: Endpoint
  /** the service's origin */
  origin: string
  /** HTTP status of the response; undefined without a complete response */
  status: number | undefined
  /** stable code of the error, `aborted` if the caller stopped it; undefined after a response */
  failure: string | undefined
  /** duration in ms, including connecting and redirects */
  ms: number
}

export type OnAnswer = (end: RequestEnd) => void

/** Returns the target of a redirect; undefined without one. Throws `redirect_refused` for a POST, another origin, or too many redirects. */
function nextUrl(
  answer: RawAnswer,
  from: { url: URL; method: 'GET' | 'POST'; what: string; mayFollow: boolean },
): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(answer.status)) return undefined
  const refuse = (target: string) => redirectError(from.what, answer.status, target)
  const location = answer.headers.location
  if (location === undefined || !URL.canParse(location, from.url.href))
    throw refuse('an address that cannot be read')
  const next = new URL(location, from.url)
  const { origin } = from.url
  if (next.origin !== origin)
    throw refuse(`another server, ${next.origin === 'null' ? next.protocol : next.origin}`)
  if (from.method !== 'GET') throw refuse(`another path of ${origin}`)
  if (!from.mayFollow) throw refuse(`${origin} too many times`)
  return next
}

/** A decoded body, and its gzipped bytes if it came in gzip. */
type Body = { decoded: Buffer; gzipped: Buffer | undefined }

/** Size of the first buffer for a body of unknown length, bytes. */
const FIRST_BYTES = 64 * 1024
/** Larger responses are read one at a time, bytes; this is five hours of samples. */
const LARGE_BYTES = 8_000_000

/** One large response is read at a time, and one response is held; its holder may read another. */
type LargeAnswers = { read: Semaphore; held: Semaphore }

type Input = { encoding: string | undefined; length: number | undefined; maxBytes: number; what: string }

/**
 * Reads a body and decodes gzip. Throws `too_large` as soon as its size, decoded or not, exceeds the limit (bytes), and the library's error if
 * it ends early. `length` is the Content-Length. A large body is read once `large` allows it; with a `hold`, it waits until no other is held,
 * and is held until the release.
 */
async function readBody(
  body: Readable,
  { large, hold, ...input }: Input & { large: LargeAnswers; hold: Hold | undefined },
): Promise<Body> {
  const { maxBytes } = input
  const pieces = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const began = await collect(pieces, { ...input, pauseAt: LARGE_BYTES })
  if (began.ended) {
    const read = await decode(began.bytes, { ...input, maxBytes: Math.min(maxBytes, LARGE_BYTES) }).catch(
      (error: unknown) =>
        errorCode(error) === 'too_large' && maxBytes > LARGE_BYTES ? undefined : Promise.reject(error),
    )
    if (read) return read
  }
  const readLarge = () =>
    large.read(1, async () => {
      // The buffers of the last response stay in memory until a full collection.
      collectGarbage()
      const whole = began.ended ? began : await collect(pieces, { ...input, began })
      return decode(whole.bytes, input)
    })
  if (!hold) return readLarge()
  return new Promise((resolve, reject) => {
    const work = async () => {
      resolve(await readLarge())
      hold.isTaken = true
      await hold.released
    }
    large.held(1, work).catch(reject)
  })
}

async function decode(came: Buffer, { encoding, maxBytes, what }: Input): Promise<Body> {
  if (!isGzip(encoding)) return { decoded: came, gzipped: undefined }
  try {
    return { decoded: await decodeGzip(came, maxBytes), gzipped: came }
  } catch (error) {
    throw errorCode(error) === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(what, maxBytes) : error
  }
}

type Collected = { bytes: Buffer; ended: boolean }

/** Reads pieces, after those in `began`, to the end or until the size exceeds `pauseAt`. */
async function collect(
  pieces: AsyncIterator<Buffer>,
  { length, maxBytes, what, began, pauseAt = maxBytes }: Input & { began?: Collected; pauseAt?: number },
): Promise<Collected> {
  // Chunks are copied at once, so a large response is in memory once, not twice.
  let whole = began?.bytes ?? Buffer.allocUnsafeSlow(Math.min(length ?? FIRST_BYTES, maxBytes, pauseAt))
  let size = began?.bytes.length ?? 0
  while (size <= pauseAt) {
    const { done, value: chunk } = await pieces.next()
    if (done) return { bytes: whole.subarray(0, size), ended: true }
    if (size + chunk.length > maxBytes) {
      await pieces.return?.()
      throw tooLarge(what, maxBytes)
    }
    if (size + chunk.length > whole.length) {
      const wanted = Math.min(2 * Math.max(whole.length, FIRST_BYTES), maxBytes)
      const longer = Buffer.allocUnsafeSlow(Math.max(size + chunk.length, wanted))
      whole.copy(longer, 0, 0, size)
      whole = longer
    }
    chunk.copy(whole, size)
    size += chunk.length
  }
  return { bytes: whole.subarray(0, size), ended: false }
}

function isKnownEncoding(encoding: string | undefined): boolean {
  return isGzip(encoding) || /^(identity)?$/i.test(encoding?.trim() ?? '')
}

function isGzip(encoding: string | undefined): boolean {
  return /^(x-)?gzip$/i.test(encoding?.trim() ?? '')
}

/** Collects all garbage at once, including objects that only an abandoned wait keeps alive. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

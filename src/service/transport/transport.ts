import type { Dispatcher } from 'undici'
import type { Clock } from '../../kit/clock.ts'
import { MusetteError, UnexpectedResponseError } from '../../kit/errors.ts'
import { networkError, tooLarge } from '../errors.ts'
import { isKnownEncoding, readBody } from './body.ts'
import { makeDeadline } from './deadline.ts'
import type { RawAnswer, ServiceRequest } from './message.ts'
import { type OnAnswer, observed } from './observed.ts'
import type { Timeouts } from './options.ts'
import { nextUrl } from './redirects.ts'

export type TransportDeps = {
  /** for GET keeps connections; for POST opens a new one each time, because a stale one would lose the request */
  dispatchers: { get: Dispatcher; post: Dispatcher }
  now: Clock
  options: { timeouts: Timeouts; maxBodyBytes: number; userAgent: string }
  onAnswer?: OnAnswer | undefined
}

/** At most this many redirects of a GET are followed, and only within its origin. */
const MAX_REDIRECTS = 3

/**
 * Sends a request and reads the whole answer, whatever its status. Throws TransientError when it fails below HTTP,
 * UnexpectedResponseError when the answer is too large, wrongly encoded or leads elsewhere, and the signal's reason.
 */
export function send(deps: TransportDeps, request: ServiceRequest, signal?: AbortSignal): Promise<RawAnswer> {
  return observed(deps.onAnswer, request, () => sendAndFollow(deps, request, signal))
}

async function sendAndFollow(
  deps: TransportDeps,
  request: ServiceRequest,
  signal: AbortSignal | undefined,
): Promise<RawAnswer> {
  const deadline = makeDeadline(request.totalMs ?? deps.options.timeouts.totalMs, signal)
  const state = { answered: false }
  try {
    let url = request.url
    for (let redirects = 0; ; redirects += 1) {
      deadline.signal.throwIfAborted()
      const answer = await exchange(deps, { ...request, url }, deadline.signal, state)
      if (request.redirects === 'manual') return answer
      const next = nextUrl(answer, {
        url,
        method: request.method,
        what: request.what,
        mayFollow: redirects < MAX_REDIRECTS,
      })
      if (!next) return answer
      url = next
    }
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof MusetteError) throw error
    throw networkError(error, request.what, { requestSent: wasSent(request), answered: state.answered })
  } finally {
    deadline.clear()
    // A body that no one read (no connection, an early answer) still holds its file open.
    if (request.body?.kind === 'stream') request.body.stream.destroy()
  }
}

async function exchange(
  deps: TransportDeps,
  request: ServiceRequest,
  signal: AbortSignal,
  state: { answered: boolean },
): Promise<RawAnswer> {
  const { timeouts, maxBodyBytes, userAgent } = deps.options
  const { url, what } = request
  const requestedAt = deps.now()
  state.answered = false
  const dispatcher = request.method === 'GET' ? deps.dispatchers.get : deps.dispatchers.post
  const response = await dispatcher.request({
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method: request.method,
    headers: headersOf(request, userAgent),
    ...(request.body && { body: request.body.kind === 'form' ? request.body.text : request.body.stream }),
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.bodyIdleMs,
    signal,
  })
  state.answered = true
  const headers = flattenHeaders(response.headers)
  const encoding = headers['content-encoding']
  const refusal = refuseUnread(headers, what, maxBodyBytes)
  if (refusal) {
    response.body.on('error', () => undefined).destroy()
    throw refusal
  }
  const { decoded, gzipped } = await readBody(response.body, {
    encoding,
    length: lengthOf(headers),
    maxBytes: maxBodyBytes,
    what,
  })
  const serviceTime = parseDate(headers.date)
  return {
    status: response.statusCode,
    headers,
    body: decoded,
    gzipped,
    requestedAt,
    serviceTime,
    requestSent: wasSent(request),
  }
}

function wasSent(request: ServiceRequest): boolean {
  return request.body?.kind === 'stream' ? request.body.wasSent() : true
}

function refuseUnread(
  headers: RawAnswer['headers'],
  what: string,
  maxBodyBytes: number,
): UnexpectedResponseError | undefined {
  if (Number(headers['content-length'] ?? 0) > maxBodyBytes) return tooLarge(what, maxBodyBytes)
  if (isKnownEncoding(headers['content-encoding'])) return undefined
  return new UnexpectedResponseError(
    'unknown_encoding',
    `${what}: the answer is compressed in a way nobody asked for`,
  )
}

function headersOf(request: ServiceRequest, userAgent: string): Record<string, string> {
  const { authorization, body } = request
  return {
    accept: '*/*',
    'accept-encoding': 'gzip',
    'user-agent': userAgent,
    ...(authorization !== undefined && { authorization }),
    ...(body?.kind === 'form' && { 'content-type': 'application/x-www-form-urlencoded' }),
    ...(body?.kind === 'stream' && {
      'content-type': body.contentType,
      'content-length': String(body.length),
    }),
  }
}

function flattenHeaders(
  headers: Record<string, string | string[] | undefined>,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? value[0] : value,
    ]),
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

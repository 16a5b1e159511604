import { describe, expect, it } from 'vitest'
import { DEFAULT_TIMEOUTS, type RawAnswer } from '../../../src/core/service/http-message.ts'
import {
  networkError,
  parseJsonObject,
  quoteRefusal,
  statusError,
} from '../../../src/core/service/service-errors.ts'
import { readTable } from '../../kit/table.ts'

const NOW = new Date('2024-05-01T12:00:00Z')

function answerOf(status: number, body: unknown = '', headers: RawAnswer['headers'] = {}): RawAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const times = { requestedAt: NOW, serviceTime: undefined }
  return { status, headers, body: Buffer.from(text), ...times, requestSent: true }
}

function thrownBy(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}

it.each(
  readTable(`
    300 | | redirect_refused | ride: the service redirects to no address (status 300)
    400 | | rejected | ride: the service refused the request (status 400)
    401 | | unauthorized |
    403 | {"error":"invalid_token"} | unauthorized |
    400 | {"error":"expired_token"} | unauthorized |
    400 | {"error":"invalid_grant"} | unauthorized |
    403 | {"error":"invalid_client"} | rejected |
    408 | | timeout |
    500 | | server_error |
    429 | | rate_limited | ride: the service asks to wait 2 s`),
)('the status %s with %s makes the error "%s": %s', (status, body, code, message) => {
  const error = statusError(answerOf(Number(status), body, { 'retry-after': '1.001' }), 'ride', NOW)
  expect(error?.code ?? '').toBe(code)
  if (message) expect(error?.message).toBe(message)
  const known = { unauthorized: { status: 401 }, rejected: { status: Number(status) } }
  const others = {
    timeout: { requestSent: true },
    server_error: { requestSent: true },
    rate_limited: { retryAfterMs: 1_001 },
  }
  if (error) expect(error).toMatchObject(Reflect.get({ ...known, ...others }, code ?? '') ?? {})
})

describe('the error of a connection', () => {
  const at = { requestSent: true, answered: false, origin: 'https://service.test' }
  const withCode = (code: string) => Object.assign(new TypeError('secret'), { code })

  it.each([
    ['ECONNREFUSED', 'connect_failed', 'cannot be reached: connection refused (ECONNREFUSED)'],
    ['UND_ERR_CONNECT_TIMEOUT', 'connect_failed', 'cannot be reached (UND_ERR_CONNECT_TIMEOUT)'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate_refused', 'is signed by an unknown authority'],
    ['UND_ERR_HEADERS_TIMEOUT', 'timeout', 'the service did not answer in time'],
    ['ECONNRESET', 'connection_lost', 'the connection was lost (ECONNRESET)'],
  ])('%s is %s, and says whether the request was sent', (code, kind, text) => {
    const error = networkError(withCode(code), 'ride', at)
    const requestSent = !['connect_failed', 'certificate_refused'].includes(kind)
    expect(error).toMatchObject({ code: kind, requestSent, cause: { code, message: `TypeError ${code}` } })
    expect(error.message).toContain(text)
    expect(networkError(withCode(code), 'ride', { ...at, requestSent: false }).requestSent).toBe(false)
  })

  it('is cut_answer once the response has begun, with the code from up to five causes', () => {
    const wrapped = (error: unknown, times: number): unknown =>
      times === 0 ? error : wrapped(new Error('outer', { cause: error }), times - 1)
    const messageOf = (error: unknown) => networkError(error, 'ride', { ...at, answered: true }).message
    expect(messageOf(new AggregateError([withCode('EPIPE')]))).toBe('ride: the answer was cut off (EPIPE)')
    expect(messageOf(wrapped(withCode('EPIPE'), 5))).toBe('ride: the answer was cut off (EPIPE)')
    for (const error of [wrapped(withCode('EPIPE'), 6), new AggregateError([]), 'text'])
      expect(messageOf(error)).toBe('ride: the answer was cut off (unexpected)')
  })
})

describe('the content of a response', () => {
  it.each([
    [{ success: true, error: '' }, undefined],
    [{ success: '1' }, undefined],
    [{ success: 'true', error: 'invalid_token' }, undefined],
    [{ success: 0 }, 'success_false'],
    [{ success: 'false' }, 'success_false'],
    [{ error: 'odd' }, 'success_false'],
    [{ success: false, error: 'invalid_token' }, 'unauthorized'],
    [{ success: 2 }, 'bad_shape'],
    [[], 'bad_shape'],
  ])('%j has the error %s', (body, code) => {
    const result = thrownBy(() => parseJsonObject(answerOf(200, body), 'ride'))
    expect(result).toEqual(code === undefined ? body : expect.objectContaining({ code }))
  })

  it.each([
    ['', 'empty'],
    ['  <html>', 'an HTML page'],
    ['no', 'other text'],
  ])('%j is not JSON but %s', (body, what) => {
    const error = thrownBy(() => parseJsonObject(answerOf(200, body), 'ride'))
    expect(error).toMatchObject({ code: 'not_json', message: `ride: the answer is not JSON but ${what}` })
  })
})

describe('the quoted reason of a refusal', () => {
  it.each([
    [{ error: 'short', reason: 'longer', message: 'long', error_description: 'most' }, ': "most"'],
    [{ error_description: '', message: 7, reason: 'a reason' }, ': "a reason"'],
    ['text', ''],
    [{ error: `token ${'x1'.repeat(8)} here` }, ': "token … here"'],
    [{ error: `token ${'x1'.repeat(7)}x here` }, `: "token ${'x1'.repeat(7)}x here"`],
    [{ error: `A${'b'.repeat(30)}.` }, `: "A${'b'.repeat(30)}."`],
    [{ error: `A${'b'.repeat(31)}.` }, ': "…"'],
    [{ error: 'no authorization' }, ''],
    [{ error: 'it is abc1' }, ''],
  ])('in %j is %j', (body, quoted) => {
    expect(quoteRefusal(answerOf(400, body), 'Bearer abc1')).toBe(quoted)
    if (quoted !== '') expect(quoteRefusal(answerOf(400, body), undefined)).toBe(quoted)
  })
})

it('a token request ends within the 90 s that others wait for its lock', () => {
  const { connectMs, headersMs, bodyIdleMs, totalMs, tokenMs } = DEFAULT_TIMEOUTS
  expect([2 * tokenMs < 90_000, tokenMs > 3 * connectMs, connectMs >= 10_000]).toEqual([true, true, true])
  // A response is computed on demand, and may then trickle in.
  expect([headersMs >= 60_000, bodyIdleMs >= headersMs, totalMs > 5 * headersMs]).toEqual([true, true, true])
})

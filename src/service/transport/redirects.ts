import { redirectError } from '../errors.ts'
import type { RawAnswer } from './message.ts'

/**
 * Where a redirect leads; undefined when the answer is none. Throws `redirect_refused` for a POST, another origin (which
 * includes https to http), an unreadable address, or one redirect too many.
 */
export function nextUrl(
  answer: RawAnswer,
  from: { url: URL; method: 'GET' | 'POST'; what: string; mayFollow: boolean },
): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(answer.status)) return undefined
  const { what } = from
  if (from.method !== 'GET') throw redirectError(what, `a POST was redirected (status ${answer.status})`)
  const location = answer.headers.location
  if (location === undefined || !URL.canParse(location, from.url.href)) {
    throw redirectError(what, 'it was redirected to an address that cannot be read')
  }
  const next = new URL(location, from.url)
  if (next.origin !== from.url.origin) throw redirectError(what, 'it was redirected to another origin')
  if (!from.mayFollow) throw redirectError(what, 'it was redirected too many times')
  return next
}

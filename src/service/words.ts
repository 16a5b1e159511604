import { errorLine } from '../kit/errors.ts'
import { isObject } from '../kit/json.ts'
import { parseQuietly } from './errors.ts'
import type { RawAnswer } from './message.ts'

/** The members of an answer in which services say why, the most telling first. */
const MEMBERS = ['error_description', 'message', 'reason', 'error'] as const
/** A sentence fits; whatever is longer was not written for a person. */
const MOST_CHARACTERS = 200
/** A run of so many characters that is no plain word may be a token, in whatever encoding. */
const LONG_RUN = /[^\s"'(),;<>[\]{}]{16,}/g
const PLAIN_WORD = /^\p{Lu}?\p{Ll}{0,30}[.:!?]?$/u

/**
 * Quotes the service's own words for a refusal out of a JSON answer, for the end of a message: one line, at most 200
 * characters, nothing that may be a secret. Empty where it says nothing, or repeats what it was sent. Only for requests that carry
 * no secret but their access token.
 */
export function quoteRefusal(answer: RawAnswer, authorization: string | undefined): string {
  const wire = parseQuietly(answer)
  if (!isObject(wire)) return ''
  const text = MEMBERS.map((member) => wire[member]).find(
    (value) => typeof value === 'string' && value !== '',
  )
  if (typeof text !== 'string') return ''
  const token = authorization?.split(' ').at(-1)
  if (/bearer|authorization/i.test(text) || (token && text.includes(token))) return ''
  const plain = text.replace(LONG_RUN, (run) => (PLAIN_WORD.test(run) ? run : '…'))
  const line = errorLine(plain, MOST_CHARACTERS)
  return line === '' ? '' : `: "${line}"`
}

import { errorLine } from '../kit/errors.ts'
import { isObject } from '../kit/json.ts'
import type { RawAnswer } from './http-message.ts'
import { parseQuietly } from './service-errors.ts'

/** The members of an answer that may contain the reason, the most detailed first. */
const MEMBERS = ['error_description', 'message', 'reason', 'error'] as const
/** Enough for a sentence; a longer text was not written for a person. */
const MOST_CHARACTERS = 200
/** A run of this many characters that is no plain word may be a token in some encoding. */
const LONG_RUN = /[^\s"'(),;<>[\]{}]{16,}/g
const PLAIN_WORD = /^\p{Lu}?\p{Ll}{0,30}[.:!?]?$/u

/**
 * Quotes the service's reason for a refusal from a JSON answer, for the end of a message: one line of at most 200 characters,
 * without anything that may be a secret. Empty when there is no reason, or it repeats the request's token. Only for requests with
 * no other secret than their access token.
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

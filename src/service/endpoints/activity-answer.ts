import { badShape, parseJsonObject } from '../errors.ts'
import type { RawAnswer } from '../transport/message.ts'
import { parseActivity, type WireActivity } from '../wire/activity.ts'
import { findMember } from '../wire/session-data/json-bytes.ts'
import { scanSamples } from '../wire/session-data/scan.ts'

/**
 * Reads the answer of endpoint 8 (service document, "Activity detail"). Its samples, nearly all of it, are read from the
 * bytes straight into columns and the rest as JSON; an answer whose samples are not plain enough for that is parsed whole.
 * Throws as parseJsonObject does, and UnexpectedResponseError `bad_shape`.
 */
export function readActivity(answer: RawAnswer, what: string): WireActivity {
  const { body } = answer
  const start = findMember(body, 'session_data')
  const scanned = start === undefined ? undefined : scanSamples(body, start)
  if (start !== undefined && scanned) {
    const rest = Buffer.concat([body.subarray(0, start), Buffer.from('null'), body.subarray(scanned.end)])
    const wire = parseJsonObject({ ...answer, body: rest }, what)
    // A member that comes twice counts the last time.
    if (wire.session_data === null) return understood(parseActivity(wire, scanned.data), what)
  }
  return understood(parseActivity(parseJsonObject(answer, what)), what)
}

function understood(parsed: ReturnType<typeof parseActivity>, what: string): WireActivity {
  if (!parsed.ok) throw badShape(what, parsed.reason)
  return parsed.value
}

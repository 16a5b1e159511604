import type { Parsed } from '../../src/core/service/wire/lenient.ts'

/** Returns the value of a parsed response, with its drift. Throws if it could not be parsed. */
export function unwrap<T>(parsed: Parsed<T>) {
  if (!parsed.ok) throw new Error(parsed.reason)
  return { ...parsed.value, drift: parsed.drift }
}

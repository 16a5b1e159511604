import type { Parsed } from '../../src/core/service/wire/lenient.ts'

/** The value of a parsed answer, with its drift. */
export function unwrap<T>(parsed: Parsed<T>) {
  if (!parsed.ok) throw new Error(parsed.reason)
  return { ...parsed.value, drift: parsed.drift }
}

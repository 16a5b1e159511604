/** The facts about a field: how often it had each kind of value, and the orders of magnitude of numbers and lengths. */
export type FieldFacts = {
  kinds: Record<string, number>
  /** the least and the greatest power of ten of numbers that are not 0: [1, 2] is 10 to 999 */
  numbers?: [least: number, greatest: number]
  /** the same of the lengths of texts and lists */
  lengths?: [least: number, greatest: number]
}

/** Field names that may be data, such as dates or names of persons, are counted as one. */
const PLAIN_NAME = /^[a-z][a-z_]{0,40}$/i
const OTHER_NAME = '(a name with other signs)'

/** Returns the name of a field when it cannot be data, else one that stands for all others. */
export function reportableName(name: string): string {
  return PLAIN_NAME.test(name) ? name : OTHER_NAME
}

/** Deeper than any answer of the service. */
const MAX_DEPTH = 8

/** Counts a JSON value and all that is in it into `facts`, by path (`session_data[].power`); no value and no text is kept. */
export function measureJson(facts: Map<string, FieldFacts>, path: string, value: unknown, depth = 0): void {
  const known = facts.get(path) ?? { kinds: {} }
  facts.set(path, known)
  const kind = kindOf(value)
  known.kinds[kind] = (known.kinds[kind] ?? 0) + 1
  if (typeof value === 'number' && value !== 0) known.numbers = widen(known.numbers, Math.abs(value))
  const length = typeof value === 'string' || Array.isArray(value) ? value.length : 0
  if (length > 0) known.lengths = widen(known.lengths, length)
  if (depth >= MAX_DEPTH) return
  if (Array.isArray(value)) for (const item of value) measureJson(facts, `${path}[]`, item, depth + 1)
  else if (value !== null && typeof value === 'object')
    for (const [name, member] of Object.entries(value))
      measureJson(facts, `${path}.${reportableName(name)}`, member, depth + 1)
}

function widen(range: [number, number] | undefined, value: number): [number, number] {
  const order = Math.floor(Math.log10(value))
  return range ? [Math.min(range[0], order), Math.max(range[1], order)] : [order, order]
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  if (typeof value === 'number') return Number.isInteger(value) ? 'whole number' : 'number'
  if (typeof value !== 'string') return typeof value
  if (value === '') return 'empty text'
  if (/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value)) return 'text of a number'
  if (/^\d{4}-\d\d-\d\d/.test(value)) return 'text of a date'
  return /^https?:/.test(value) ? 'text of an address' : 'text'
}

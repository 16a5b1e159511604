import { escapeDelete } from '../../kit/control-characters.ts'
import { ConfigError } from '../../kit/errors.ts'
import type { Field, Row } from '../../store/raw-query.ts'
import type { Printer } from './printer.ts'

/**
 * Makes a printer of one JSON array for each statement, a row in a line. Nothing is lost: a name that comes again is
 * numbered, JSON stays as it is, and what JavaScript would round (bigint, numeric) or JSON does not know (infinity) is a string.
 */
export function makeJsonPrinter(): Printer {
  let fields: readonly Field[] = []
  let names: string[] = []
  let before = '['
  return {
    begin(next) {
      fields = next
      names = uniqueNames(fields.map(({ name }) => name)).map((name) => stringOf(name))
      return ''
    },
    rows(rows) {
      const text = before + rows.map((row) => objectOf(names, fields, row)).join(',\n')
      before = ',\n'
      return text
    },
    copied() {
      throw new ConfigError('bad_usage', 'what COPY writes is not JSON; leave out --json')
    },
    end() {
      const text = before === '[' ? '[]\n' : ']\n'
      before = '['
      return text
    },
  }
}

/** Numbers the second and later columns of one name, `max`, `max_2`, `max_3`, past the names that other columns have. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set(names)
  const used = new Set<string>()
  return names.map((name) => {
    let unique = name
    for (let number = 2; used.has(unique) || (unique !== name && taken.has(unique)); number += 1) {
      unique = `${name}_${number}`
    }
    used.add(unique)
    return unique
  })
}

function objectOf(names: readonly string[], fields: readonly Field[], row: Row): string {
  const members = names.map((name, index) => `${name}:${jsonOf(fields[index], row[index] ?? null)}`)
  return `{${members.join(',')}}`
}

function jsonOf(field: Field | undefined, value: string | null): string {
  if (value === null) return 'null'
  if (field?.form === 'boolean') return value === 't' ? 'true' : 'false'
  if (field?.form === 'json') return escapeDelete(value)
  return field?.form === 'number' && /^-?\d/.test(value) ? value : stringOf(value)
}

function stringOf(text: string): string {
  return escapeDelete(JSON.stringify(text))
}

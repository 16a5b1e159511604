import { DAY } from '../../src/kit/time.ts'

type TimeRange = { from: Date; to: Date }

/** As Grafana finds its macros: what stands between the brackets holds no closing one. */
const MACRO = /\$(__[a-zA-Z]+)\(([^)]*)\)/g
const VARIABLE = /\$\{(\w+)(?::(\w+))?\}|\$(?!__)(\w+)/g
const UNITS: Readonly<Record<string, number>> = { d: DAY, w: 7 * DAY, M: 30 * DAY, y: 365 * DAY }

/**
 * Makes of a panel's query what Grafana sends to Postgres: first the variables, in the browser, then the macros of its
 * PostgreSQL data source. Throws at a variable, a format or a macro that is not known.
 */
export function expandQuery(
  sql: string,
  given: { variables: Readonly<Record<string, string>>; range: TimeRange },
): string {
  const chosen = sql.replace(VARIABLE, (_, braced?: string, format?: string, bare?: string) => {
    const name = braced ?? bare ?? ''
    const value = given.variables[name]
    if (value === undefined) throw new Error(`there is no variable ${name} in this dashboard`)
    if (format === undefined) return value
    if (format === 'sqlstring') return `'${value.replaceAll("'", "''")}'`
    throw new Error(`the format ${format} of ${name} is not known here`)
  })
  return chosen.replace(MACRO, (_, macro: string, argument: string) => {
    const [from, to] = [given.range.from, given.range.to].map((moment) => `'${moment.toISOString()}'`)
    if (macro === '__timeFilter') return `${argument.trim()} BETWEEN ${from} AND ${to}`
    if (macro === '__timeFrom') return String(from)
    if (macro === '__timeTo') return String(to)
    throw new Error(`the macro ${macro} is not known here`)
  })
}

/** Reads the start of a time range such as `now-6M`, counted from `now`; throws at any other text. */
export function parseStart(text: string, now: Date): Date {
  const [, count, unit] = /^now-(\d+)([dwMy])$/.exec(text) ?? []
  const length = UNITS[unit ?? '']
  if (!length) throw new Error(`not a start of a time range: ${text}`)
  return new Date(now.getTime() - Number(count) * length)
}

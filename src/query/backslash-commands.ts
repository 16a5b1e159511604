import pg from 'pg'
import { ConfigError } from '../kit/errors.ts'
import { splitStatements } from './split-statements.ts'

/** A part of the typed text: a psql command, or SQL. */
type Typed = { command: string } | { text: string }

const BEGINS_WITH_COMMAND = /^(?:\s|--[^\n]*\n)*\\/

/** Splits a text into commands, which end with their line, and statements. */
export function splitTyped(text: string): Typed[] {
  return splitStatements(text).flatMap((statement) => {
    const parts: Typed[] = []
    let rest = statement
    while (BEGINS_WITH_COMMAND.test(rest)) {
      const [line = '', ...others] = rest.slice(rest.indexOf('\\')).split('\n')
      parts.push({ command: line.trim() })
      rest = others.join('\n')
    }
    if (rest.trim() !== '') parts.push({ text: rest })
    return parts
  })
}

const LIST = /^\\d(?<tables>t?)\+?;?$/
const DESCRIBE = /^\\d\+?\s+(?<name>\S.*)$/

/**
 * Makes the statement that answers `\\d`, `\\dt` or `\\d NAME` from the catalogue; without rows there is no table or view of that name.
 * Throws ConfigError `sql_rejected` for any other command.
 */
export function makeCatalogueQuery(command: string): { text: string; name: string | undefined } {
  const list = LIST.exec(command)
  if (list)
    return { text: tablesOf(list.groups?.tables ? ['r', 'p'] : ['r', 'p', 'v', 'm', 'f']), name: undefined }
  const name = DESCRIBE.exec(command)?.groups?.name
  if (name !== undefined) return { text: describe(name), name }
  const [word = ''] = command.split(/\s/)
  const instead = word === '\\x' ? 'add --expanded; ' : word === '\\copy' ? 'add --csv; ' : ''
  const message = `${word} is not known here: ${instead}\\d lists tables and views, \\dt tables, \\d NAME shows the columns of one; all else knows: psql "$(musette db-url)"`
  throw new ConfigError('sql_rejected', `SQL: ${message}`)
}

/** Makes the error for a name that the catalogue does not have. */
export function noSuchTable(name: string): ConfigError {
  return new ConfigError(
    'sql_rejected',
    `SQL: there is no table or view ${name} here; all of them: musette sql '\\d'`,
  )
}

function tablesOf(kinds: readonly string[]): string {
  return `SELECT n.nspname AS schema, c.relname AS name,
      CASE WHEN c.relkind IN ('v', 'm') THEN 'view' ELSE 'table' END AS type, obj_description(c.oid, 'pg_class') AS comment
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN (${kinds.map((kind) => pg.escapeLiteral(kind)).join(', ')}) AND pg_catalog.pg_table_is_visible(c.oid)
      AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    ORDER BY 1, 2`
}

// A name is read as in a statement: without quotes in small letters, with a schema or without.
function describe(name: string): string {
  return `SELECT a.attname AS column, pg_catalog.format_type(a.atttypid, a.atttypmod) AS type,
      CASE WHEN a.attnotnull THEN 'not null' END AS nullable, pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS default,
      pg_catalog.col_description(a.attrelid, a.attnum) AS comment
    FROM pg_catalog.pg_attribute a
    LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = pg_catalog.to_regclass(${pg.escapeLiteral(name)}) AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum`
}

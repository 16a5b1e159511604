import pg from 'pg'
import { ConfigError } from '../../kit/errors.ts'

const DESCRIBE = /^\\d\+?(?:\s+(?<name>\S.*?))?\s*;?$/

/**
 * Makes the statement that answers `\\d` or `\\d NAME` from the catalogue; without rows there is no table or view of that name. Throws
 * ConfigError `sql_rejected` for any other command.
 */
export function makeCatalogueQuery(command: string): { text: string; name: string | undefined } {
  const found = DESCRIBE.exec(command)
  if (found) {
    const name = found.groups?.name
    return { text: name === undefined ? TABLES : describe(name), name }
  }
  const [word = ''] = command.split(/\s/)
  const instead = word === '\\x' ? 'add --expanded; ' : word === '\\copy' ? 'add --csv; ' : ''
  const message = `${word} is not known here: ${instead}\\d lists tables and views, \\d NAME shows the columns of one; all else knows: psql "$(musette db-url)"`
  throw new ConfigError('sql_rejected', `SQL: ${message}`)
}

/** Makes the error for a name that the catalogue does not have. */
export function noSuchTable(name: string): ConfigError {
  return new ConfigError(
    'sql_rejected',
    `SQL: there is no table or view ${name} here; all of them: musette sql '\\d'`,
  )
}

const TABLES = `SELECT n.nspname AS schema, c.relname AS name,
    CASE WHEN c.relkind IN ('v', 'm') THEN 'view' ELSE 'table' END AS type, obj_description(c.oid, 'pg_class') AS comment
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_catalog.pg_table_is_visible(c.oid)
    AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  ORDER BY 1, 2`

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

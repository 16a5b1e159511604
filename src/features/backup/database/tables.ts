import { is } from 'drizzle-orm'
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core'
import pg from 'pg'
import * as schema from '../../../core/store/schema/index.ts'
import type { Tx } from '../../../core/store/store.ts'

/** A table as `schema.name`, with its columns except the generated columns, which Postgres computes. */
export type BackupTable = { name: string; columns: string[] }

/** The sequence of an identity column. Its value is text, because the value may be too large for a JavaScript number. */
export type SequenceState = { name: string; last_value: string; is_called: boolean }

/** Returns every table of this version, each after the tables that its foreign keys refer to. */
export function tablesInOrder(): BackupTable[] {
  const placed = new Map<PgTable, BackupTable>()
  const place = (table: PgTable) => {
    if (placed.has(table)) return
    const { schema: schemaName, name, columns, foreignKeys } = getTableConfig(table)
    const others = foreignKeys.map((key) => key.reference().foreignTable)
    others.filter((other) => other !== table).forEach(place)
    const ours = columns.filter(({ generated }) => generated === undefined)
    placed.set(table, { name: `${schemaName}.${name}`, columns: ours.map((column) => column.name) })
  }
  for (const table of Object.values(schema)) if (is(table, PgTable)) place(table)
  return [...placed.values()]
}

/** Finds the tables and columns of this version that an older database has. No migration since 1.0.0 removes a table. */
export async function findKnownTables(client: pg.ClientBase): Promise<BackupTable[]> {
  const present = await findColumns(client)
  return tablesInOrder().flatMap(({ name, columns }) => {
    const known = columns.filter((column) => present.get(name)?.includes(column))
    return known.length === 0 ? [] : [{ name, columns: known }]
  })
}

export function quoteName(name: string): string {
  return name.split('.').map(pg.escapeIdentifier).join('.')
}

/** Quotes a table with its columns for COPY. */
export function quoteColumns({ name, columns }: BackupTable): string {
  return `${quoteName(name)} (${columns.map(pg.escapeIdentifier).join(', ')})`
}

/** Reads the sequences of identity columns. Their values cover at least the rows that this transaction sees. */
export async function findSequences(tx: Tx, tables: readonly BackupTable[]): Promise<SequenceState[]> {
  const { rows: found } = await tx.client.query<{ name: string }>(
    `SELECT n.nspname || '.' || s.relname AS name
     FROM pg_class s JOIN pg_namespace n ON n.oid = s.relnamespace
       JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = s.oid AND d.deptype IN ('a', 'i')
     WHERE s.relkind = 'S' AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY ($1::regclass[])
     ORDER BY 1`,
    [tables.map((table) => quoteName(table.name))],
  )
  const each = found.map(
    ({ name }) =>
      `SELECT ${pg.escapeLiteral(name)} AS name, last_value::text, is_called FROM ${quoteName(name)}`,
  )
  return (await tx.client.query<SequenceState>(each.join(' UNION ALL '))).rows
}

/**
 * Finds the columns of our schemas' tables by table name, without computed columns and without partitions. Leaves out the journal, which
 * the migrations write, and the unlogged tables, which only running processes need.
 */
export async function findColumns(client: pg.ClientBase): Promise<Map<string, string[]>> {
  const { rows } = await client.query<{ name: string; columns: string[] }>(
    `SELECT n.nspname || '.' || c.relname AS name,
       array(SELECT attname::text FROM pg_attribute
         WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum) AS columns
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname IN ('training', 'musette') AND c.relkind IN ('r', 'p')
       AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = c.oid)
       AND c.oid IS DISTINCT FROM to_regclass('musette.migrations') AND NOT (n.nspname = 'musette' AND c.relpersistence = 'u')
     ORDER BY 1`,
  )
  return new Map(rows.map(({ name, columns }) => [name, columns]))
}

/** Finds the tables that may have large rows: the tables with a jsonb or bytea column. */
export async function findWideTables(client: pg.ClientBase): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT DISTINCT n.nspname || '.' || c.relname AS name
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname IN ('training', 'musette') AND a.atttypid IN ('bytea'::regtype, 'jsonb'::regtype)`,
  )
  return new Set(rows.map(({ name }) => name))
}

import { createHash, randomBytes } from 'node:crypto'
import type pg from 'pg'
import { inject } from 'vitest'
import { connect, makeConnections, withConnection } from './connect.ts'
import { nameOfHistory } from './provided.ts'

/** SQL that selects each session of the current database that waits for a lock. */
export const WAITING_FOR_LOCK = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`

export type TestDatabase = {
  url: string
  close(): Promise<void>
}

/**
 * Opens a separate database: a clone of the migrated template, or empty with `migrated: false`. `close` drops it, even if a connection is
 * still open.
 */
export async function openTestDatabase(options: { migrated?: boolean } = {}): Promise<TestDatabase> {
  return createDatabase((options.migrated ?? true) ? findTemplate() : 'template1')
}

/**
 * Opens a clone of the database that `prepare` fills. The first test file that needs it prepares it, once per run. `prepare` must close all
 * its connections.
 */
export async function openHistory(prepare: (url: string) => Promise<void>): Promise<TestDatabase> {
  const prepared = nameOfHistory(findTemplate())
  await withConnection(inject('postgresUrl'), async (client) => {
    // The end of the connection releases the lock.
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [prepared])
    const { rows } = await client.query('SELECT FROM pg_database WHERE datname = $1', [prepared])
    if (rows.length === 0) {
      const database = await openTestDatabase()
      try {
        await prepare(database.url)
        // Otherwise each clone would start a new line, as a copied database does.
        await queryOnce(database.url, 'UPDATE training.database SET database_oid = NULL')
        await client.query(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} RENAME TO ${prepared}`)
      } finally {
        await database.close()
      }
    }
  })
  return createDatabase(prepared)
}

function findTemplate(): string {
  const template = inject('template')
  if ('database' in template) return template.database
  throw new Error(`no migrated database to clone: ${template.reason}`)
}

/** Clones a database by copying files, which takes a fifth of the time of the default of Postgres, a copy through the WAL. */
async function createDatabase(template: string): Promise<TestDatabase> {
  const server = inject('postgresUrl')
  const name = `test_${randomBytes(6).toString('hex')}`
  await queryOnce(server, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`)
  const url = new URL(server)
  url.pathname = `/${name}`
  const close = async () => {
    await pools.get(url.href)?.end()
    pools.delete(url.href)
    await queryOnce(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    // A daemon of the test makes it for its pages.
    await queryOnce(server, `DROP ROLE IF EXISTS ${nameOfLogin(url.href, 'pages')}`)
  }
  return { url: url.href, close }
}

/** The name of the login that musette makes for such readers of the database at `url`. */
export function nameOfLogin(url: string, kind: 'mcp' | 'sql' | 'pages'): string {
  const { pathname, username } = new URL(url)
  const place = createHash('sha256')
    .update(`${pathname.slice(1)} ${username}`)
    .digest('hex')
  return `musette_${kind}_${place.slice(0, 8)}`
}

/** Connections of queryOnce, by URL, because opening one costs more than most queries. Idle connections are closed after a moment. */
const pools = new Map<string, pg.Pool>()
/** Statements whose effect an open session does not see. */
const SETS_SESSIONS = /\balter (database|role|user|system)\b/i

/** Runs one statement and returns its rows. Sessions are reset in between, so statements do not affect each other. */
export async function queryOnce(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = await findPool(url).connect()
  let isAsNew = false
  try {
    const { rows } = await client.query<Record<string, unknown>>(text, values)
    if (SETS_SESSIONS.test(text)) closePools()
    // It fails in an open transaction, or if the server is gone.
    else
      isAsNew = await client.query('DISCARD ALL').then(
        () => true,
        () => false,
      )
    return rows
  } finally {
    client.release(!isAsNew)
  }
}

function findPool(url: string): pg.Pool {
  const found = pools.get(url)
  if (found) return found
  const pool = makeConnections(url)
  pools.set(url, pool)
  return pool
}

function closePools(): void {
  for (const pool of pools.values()) void pool.end()
  pools.clear()
}

/** Makes a template tag that runs a query. The values in `${}` are sent as parameters. */
export function makeSqlTag<Row>(query: (text: string, values: unknown[]) => Promise<Row[]>) {
  return (parts: TemplateStringsArray, ...values: unknown[]) =>
    query(
      parts.reduce((text, part, index) => `${text}$${index}${part}`),
      values,
    )
}

/**
 * Returns SQL that selects each transaction with a lock on a table. Only the current database counts, because tables in other test
 * databases have the same OIDs.
 */
export function locksHeldOn(table: string, mode: 'RowShareLock' | 'AccessExclusiveLock'): string {
  return `SELECT FROM pg_locks WHERE relation = '${table}'::regclass AND mode = '${mode}' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
}

/** Runs a statement in a transaction that stays open with its locks until `close` rolls it back. */
export async function openHold(url: string, statement: string): Promise<{ close(): Promise<void> }> {
  const client = await connect(url)
  await client.query(`BEGIN; ${statement}`).catch(async (error) => {
    await client.end()
    throw error
  })
  return { close: () => client.end() }
}

/** SQL that ends every other connection to the database, as a restart of Postgres does. */
export const END_CONNECTIONS =
  'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'

import { createHash, randomBytes } from 'node:crypto'
import type pg from 'pg'
import { inject } from 'vitest'
import { connect, makeConnections, withConnection } from './connect.ts'
import { nameOfHistory } from './provided.ts'

/** Selects a row for each query of the current database that waits for a lock. */
export const WAITING_FOR_LOCK = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`

export type TestDatabase = {
  url: string
  close(): Promise<void>
}

/**
 * Opens a database of its own: a clone of the migrated template, or empty with `migrated: false`. `close` drops it, even
 * when a connection was forgotten.
 */
export async function openTestDatabase(options: { migrated?: boolean } = {}): Promise<TestDatabase> {
  return createDatabase((options.migrated ?? true) ? findTemplate() : 'template1')
}

/**
 * Opens a clone of the history that `prepare` makes of a migrated database. It is prepared once in a run, by the first test file that
 * wants it. All of its connections must be closed when `prepare` ends.
 */
export async function openHistory(prepare: (url: string) => Promise<void>): Promise<TestDatabase> {
  const prepared = nameOfHistory(findTemplate())
  await withConnection(inject('postgresUrl'), async (client) => {
    // Its end of the connection frees the lock.
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [prepared])
    const { rows } = await client.query('SELECT FROM pg_database WHERE datname = $1', [prepared])
    if (rows.length === 0) {
      const database = await openTestDatabase()
      try {
        await prepare(database.url)
        // Else each clone would begin a line, as a copy does.
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

/** A copy of the files takes a fifth of the time that a copy through the log takes, which is Postgres' own choice. */
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

/** Connections of queryOnce, by URL: opening one costs more than most queries. They are closed when nobody has used them for a moment. */
const pools = new Map<string, pg.Pool>()
/** What a session that is open does not follow. */
const SETS_SESSIONS = /\balter (database|role|user|system)\b/i

/** Runs one statement and returns its rows. Nothing of it is left in the session, and nothing of another one is there. */
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
    // A transaction that was left open, or a server that went away, refuses it.
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

/** Makes the tag of a template that is a query: what stands in `${}` is a value of it, sent beside the text. */
export function makeSqlTag<Row>(query: (text: string, values: unknown[]) => Promise<Row[]>) {
  return (parts: TemplateStringsArray, ...values: unknown[]) =>
    query(
      parts.reduce((text, part, index) => `${text}$${index}${part}`),
      values,
    )
}

/** Selects a row for each transaction that holds a lock on a table. The tables of other tests' databases have the same numbers. */
export function locksHeldOn(table: string, mode: 'RowShareLock' | 'AccessExclusiveLock'): string {
  return `SELECT FROM pg_locks WHERE relation = '${table}'::regclass AND mode = '${mode}' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
}

/** Runs a statement in a transaction that stays open, with its locks, until `close` takes it back. */
export async function openHold(url: string, statement: string): Promise<{ close(): Promise<void> }> {
  const client = await connect(url)
  await client.query(`BEGIN; ${statement}`).catch(async (error) => {
    await client.end()
    throw error
  })
  return { close: () => client.end() }
}

/** Ends every other connection to the database, as a restart of Postgres does. */
export const END_CONNECTIONS =
  'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'

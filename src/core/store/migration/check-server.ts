import type pg from 'pg'
import { ConfigError } from '../../../kit/errors.ts'
import { PostgresClient } from '../../../kit/postgres-client.ts'
import { SECOND, within } from '../../../kit/time.ts'

/** How long to wait for a second connection, ms: a busy pooler makes clients wait. */
const SECOND_SESSION_WITHIN_MS = 5 * SECOND

/**
 * Checks three conditions that no query can work around: the encoding is UTF-8, the login may create missing tables and functions, and a
 * session stays on its server connection. Throws ConfigError `database_encoding`, `database_forbidden` or `database_pooled`, or pg's own
 * errors.
 */
export async function checkServer(client: pg.ClientBase, connectionString: string): Promise<void> {
  const { rows } = await client.query<{ encoding: string; missing: string | null }>(
    `SELECT current_setting('server_encoding') AS encoding,
       CASE WHEN to_regnamespace('training') IS NULL AND NOT has_database_privilege(current_database(), 'CREATE')
         THEN format('GRANT CREATE ON DATABASE %I TO %I', current_database(), current_user) END AS missing`,
  )
  const { encoding = '', missing } = rows[0] ?? {}
  if (encoding !== 'UTF8') {
    const message =
      `this database has the encoding ${encoding}, which cannot store every name; create another one with: ` +
      'createdb --template=template0 --encoding=UTF8 --locale=C musette_utf8, and set DATABASE_URL to it'
    throw new ConfigError('database_encoding', message)
  }
  if (missing) {
    const message = `this login may create nothing in the database; ask its owner to type in it: ${missing}`
    throw new ConfigError('database_forbidden', message)
  }
  if (await isPooledByTransaction(client, connectionString)) {
    const message =
      'DATABASE_URL leads to a pooler that pools by transaction, but musette needs settings, locks and ' +
      'notifications that stay on one connection; use the address of Postgres itself, or set pool_mode = session'
    throw new ConfigError('database_pooled', message)
  }
}

/** Reports whether a pooler changes sessions between statements. A pooler reports a different process id than the server. */
async function isPooledByTransaction(first: pg.ClientBase, connectionString: string): Promise<boolean> {
  const before = await findPid(first)
  if (before === (first as unknown as { processID: number }).processID) return false
  // Inside a transaction the session stays the same in every pool mode.
  const [one, two] = [new PostgresClient({ connectionString }), new PostgresClient({ connectionString })]
  try {
    await one.connect()
    const pid = await findPid(one)
    let other: number | undefined
    const begin = async () => {
      await two.connect()
      await two.query('BEGIN')
      other = await findPid(two)
    }
    if (!(await within(begin(), SECOND_SESSION_WITHIN_MS))) return false
    return other === pid || (await findPid(one)) !== pid
  } finally {
    for (const client of [one, two]) client.end().catch(() => undefined)
  }
}

async function findPid(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return rows[0]?.pid ?? 0
}

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { mapDatabaseError, sqlstateOf } from '../../../core/store/database-errors.ts'
import { ConfigError } from '../../../kit/errors.ts'
import { withClient } from '../../../kit/postgres-client.ts'
import { HOUR } from '../../../kit/time.ts'

/** Prefix of a temporary database's name; the time of its creation and a random part follow. */
const PREFIX = 'musette_verify_'
/** Age, ms, after which an unused temporary database counts as left by a killed process. A younger database may be about to be used. */
const LEFT_AFTER_MS = HOUR
const PERMISSION_DENIED = '42501'

/**
 * Makes an empty database on the server of `connectionString`, runs `work` with its URL, and drops it; also drops databases that killed
 * processes left. Throws ConfigError `create_database_denied` if the login may not make a database, connection errors, and the errors of
 * `work`.
 */
export async function withTemporaryDatabase<T>(connectionString: string, work: (url: string) => Promise<T>) {
  const name = `${PREFIX}${Date.now()}_${randomBytes(4).toString('hex')}`
  await onServer(connectionString, async (client) => {
    await dropLeft(client)
    await create(client, name)
  })
  try {
    const url = new URL(connectionString)
    url.pathname = `/${name}`
    return await work(url.href)
  } finally {
    // Drop the database over a new connection, because the work may take hours.
    await onServer(connectionString, (client) =>
      client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
    ).catch(() => undefined)
  }
}

async function create(client: pg.ClientBase, name: string): Promise<void> {
  try {
    // The locale C works with every encoding and compares bytes.
    await client.query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'`)
  } catch (error) {
    if (sqlstateOf(mapDatabaseError(error, 'query')) !== PERMISSION_DENIED) throw error
    const { rows } = await client.query<{ login: string }>('SELECT current_user AS login')
    const login = pg.escapeIdentifier(rows[0]?.login ?? '')
    const message = `this login may not make the temporary database into which the backup is restored; as the owner of the server run: ALTER ROLE ${login} CREATEDB`
    throw new ConfigError('create_database_denied', message, { cause: error })
  }
}

async function dropLeft(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT datname AS name FROM pg_database d
     WHERE substring(datname::text FROM $1::text)::bigint < $2::bigint AND pg_has_role(datdba, 'USAGE')
       AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.datid = d.oid)`,
    [`^${PREFIX}([0-9]{1,15})_[0-9a-f]+$`, Date.now() - LEFT_AFTER_MS],
  )
  // If somebody connects now, DROP fails and the database stays.
  for (const { name } of rows) await client.query(`DROP DATABASE ${name}`).catch(() => undefined)
}

async function onServer<T>(connectionString: string, work: (client: pg.ClientBase) => Promise<T>) {
  try {
    return await withClient({ connectionString, application_name: 'musette verify' }, work)
  } catch (error) {
    throw mapDatabaseError(error, 'connect')
  }
}

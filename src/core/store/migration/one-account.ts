import pg from 'pg'
import { ConfigError } from '../../../kit/errors.ts'
import type { Store } from '../store.ts'

/** The role of the logins that see single accounts. The role may read only the tables and views that musette.protect() has opened to it. */
const ONE_ACCOUNT = 'musette_one_account'
const READABLE = `relnamespace = to_regnamespace('training') and relkind in ('r', 'p', 'v')`

/** Finds the tables and views in schema training that users created; undefined before the migration that adds musette.protect(). */
export async function findUnprotected(client: pg.ClientBase): Promise<number[] | undefined> {
  const { rows: found } = await client.query("select where to_regproc('musette.protect') is not null")
  if (found.length === 0) return undefined
  const { rows } = await client.query<{ oid: number }>(
    `select oid from pg_class where ${READABLE} and not musette.is_protected(oid)`,
  )
  return rows.map(({ oid }) => oid)
}

/** Protects the tables and views that a migration created or replaced, so that a login limited to one account sees only its account there. Skips `ofUsers`, which users created. */
export async function protectNew(client: pg.ClientBase, ofUsers: readonly number[]): Promise<void> {
  await client.query(
    `select musette.protect(oid) from pg_class
     where ${READABLE} and not musette.is_protected(oid) and oid <> all ($1::oid[])`,
    [ofUsers],
  )
}

/** Protects a table and its partitions, including new partitions, so that a login limited to one account sees only its account there. */
export async function protectParts(client: pg.ClientBase, table: string): Promise<void> {
  await client.query(
    `select musette.protect(part.oid) from (select $1::regclass as oid union all
       select inhrelid from pg_inherits where inhparent = $1::regclass) as part where not musette.is_protected(part.oid)`,
    [table],
  )
}

/**
 * Prepares the database for logins that see one account. Throws ConfigError `one_account_unsupported` before Postgres 15. If the server was
 * upgraded to 15 later, gives the views the option `security_invoker`. Changes each view in a separate transaction, because a transaction that
 * waits for one view while it locks another could deadlock with a daemon.
 */
export async function assertOneAccount(store: Pick<Store, 'transaction'>): Promise<void> {
  const { rows } = await store.transaction(({ client }) =>
    client.query<{ oid: number; modern: boolean }>(
      `select oid, current_setting('server_version_num')::int >= 150000 as modern from pg_class
       where ${READABLE} and relkind = 'v' and not musette.is_protected('training.today') and not musette.is_protected(oid)`,
    ),
  )
  if (rows.some(({ modern }) => !modern))
    throw new ConfigError(
      'one_account_unsupported',
      'limiting a login to one account needs Postgres 15 or later',
    )
  for (const { oid } of rows)
    await store.transaction(({ client }) => client.query('select musette.protect($1)', [oid]))
}

/** Limits a login to one account. From its next statement on, the login sees only that account's rows, whatever roles it is a member of. */
export async function holdToAccount(client: pg.ClientBase, login: string, accountId: number): Promise<void> {
  const name = pg.escapeIdentifier(login)
  if ((await client.query('select from pg_roles where rolname = $1', [ONE_ACCOUNT])).rowCount === 0)
    await client.query(`CREATE ROLE ${ONE_ACCOUNT} NOLOGIN`)
  await client.query('delete from musette.held_logins where login = $1 and account_id <> $2', [
    login,
    accountId,
  ])
  await client.query('insert into musette.held_logins values ($1, $2) on conflict do nothing', [
    login,
    accountId,
  ])
  await client.query(`GRANT ${ONE_ACCOUNT} TO ${name}`)
  await client.query(`REVOKE musette_reader FROM ${name}`)
  await client.query(`GRANT USAGE ON SCHEMA training TO ${ONE_ACCOUNT}`)
  const { rows } = await client.query<{ name: string }>(
    `select oid::regclass::text as name from pg_class where ${READABLE} and musette.is_protected(oid)`,
  )
  await client.query(`GRANT SELECT ON ${rows.map(({ name }) => name).join(', ')} TO ${ONE_ACCOUNT}`)
}

/** Finds the accounts that a login is limited to; returns none for a login that sees all accounts. */
export async function findHeldAccounts(client: pg.ClientBase, login: string): Promise<number[]> {
  const { rows } = await client.query<{ account: number }>(
    'select account_id as account from musette.held_logins where login = $1',
    [login],
  )
  return rows.map(({ account }) => account)
}

import { errorLine, MusetteError } from '../../kit/errors.ts'
import type { DatabaseIdentity } from '../../kit/folders/folder-owner.ts'
import type { Store, Tx } from './store.ts'

/** Facts that a Postgres server reports about itself and this database. */
export type DatabaseFacts = {
  version: string
  /** 150004 for 15.4 */
  version_number: number
  /** maximum open connections, without connections reserved for superusers */
  connections: number
  /** connections that other programs hold now */
  connections_of_others: number
  size_bytes: number
  autovacuum: boolean
  /** whether the login may change server settings */
  is_superuser: boolean
  /** the source of default_transaction_read_only in pg_settings; null if it is off */
  read_only_by: string | null
  /** statements for an administrator that lift the connection limits of login and database, if these are too low */
  limits: string[]
  /** other roles that may create functions in schema public, without superusers */
  creators_in_public: string[]
  /** pages found with a wrong checksum since the statistics began, and when the last such page was found */
  checksum_failures: number
  checksum_last_failure: Date | null
}

/** Timeout of these queries, ms, because a slow server must not block `musette doctor`, which looks for the cause. */
const ANSWER_WITHIN_MS = 10_000

/** Finds the facts about the server. `needed` is the number of connections that musette may open at once. */
export async function findDatabaseFacts(tx: Tx, needed = 0): Promise<DatabaseFacts> {
  await tx.client.query(`SET LOCAL statement_timeout = ${ANSWER_WITHIN_MS}`)
  const { rows } = await tx.client.query<DatabaseFacts>(
    `SELECT current_setting('server_version') AS version,
           current_setting('server_version_num')::int AS version_number,
           current_setting('max_connections')::int
             - current_setting('superuser_reserved_connections')::int AS connections,
           (SELECT count(*)::int FROM pg_stat_activity
            WHERE backend_type = 'client backend' AND application_name NOT LIKE 'musette%') AS connections_of_others,
           pg_database_size(current_database())::float8 AS size_bytes,
           current_setting('autovacuum')::bool AS autovacuum, current_setting('is_superuser')::bool AS is_superuser,
           (SELECT source FROM pg_settings WHERE name = 'default_transaction_read_only' AND setting = 'on') AS read_only_by,
           ARRAY(SELECT format('ALTER ROLE %I CONNECTION LIMIT -1', rolname) FROM pg_roles
                 WHERE rolname = current_user AND NOT rolsuper AND rolconnlimit BETWEEN 0 AND $1 - 1 UNION ALL
                 SELECT format('ALTER DATABASE %I CONNECTION LIMIT -1', datname) FROM pg_database
                 WHERE datname = current_database() AND datconnlimit BETWEEN 0 AND $1 - 1) AS limits,
           ARRAY(SELECT rolname::text FROM pg_roles
                 WHERE NOT rolsuper AND rolname !~ '^pg_' AND rolname <> current_user
                   AND has_schema_privilege(oid, to_regnamespace('public'), 'CREATE') ORDER BY 1) AS creators_in_public,
           coalesce(checksum_failures, 0)::int AS checksum_failures, checksum_last_failure
    FROM pg_stat_database WHERE datname = current_database()`,
    [needed],
  )
  const [facts] = rows
  if (!facts) throw new Error('a query without FROM returns its row')
  return facts
}

/** A risk that Postgres only logs, with the statements that remove it. */
export type ServerRisk = {
  code: 'slot_keeps_wal' | 'wraparound_near' | 'order_of_texts_changed'
  /** name of a replication slot or a database */
  name: string
  /** bytes of WAL that a slot keeps, the age of a database's oldest transaction, or 1 if the collation changed */
  size: number
  /** whether a person must act */
  is_due: boolean
  statements: string[]
  /** whether this login may run the statements */
  may: boolean
}

/** Age of a database's oldest transaction at which a person must act. Autovacuum starts to freeze at 200 million and hurries at 1,600 million. */
const WORRYING_AGE = 1_200_000_000

/** Finds the replication slots, the database with the oldest transaction, and whether the collation has changed since the indexes were built. */
export async function findServerRisks({ client }: Tx): Promise<ServerRisk[]> {
  const { rows: slots } = await client.query<ServerRisk>(`
    SELECT 'slot_keeps_wal' AS code, slot_name AS name, coalesce(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END - restart_lsn, 0)::float8 AS size,
           wal_status IN ('extended', 'unreserved') AS is_due, ARRAY[format('select pg_drop_replication_slot(%L)', slot_name)] AS statements,
           (SELECT rolsuper OR rolreplication FROM pg_roles WHERE rolname = current_user) AND NOT active AS may
    FROM pg_replication_slots UNION ALL
    (SELECT 'wraparound_near', datname, size, size > ${WORRYING_AGE}, '{vacuum (freeze)}', datname = current_database()
     FROM pg_database, LATERAL (SELECT greatest(age(datfrozenxid), mxid_age(datminmxid)) AS size) s ORDER BY size DESC, datname LIMIT 1)`)
  // Before version 15, Postgres does not record the version of a database's collation.
  const old = await client.query("SELECT WHERE current_setting('server_version_num')::int < 150000")
  if (old.rowCount === 1) return slots
  const { rows: orders } = await client.query<ServerRisk>(`
    SELECT 'order_of_texts_changed' AS code, datname AS name, changed::int::float8 AS size, changed AS is_due, pg_has_role(datdba, 'USAGE') AS may,
      ARRAY[format('reindex database %I', datname), format('alter database %I refresh collation version', datname)] AS statements
    FROM pg_database, coalesce(datcollversion <> pg_database_collation_actual_version(oid), false) AS changed WHERE datname = current_database()`)
  return [...slots, ...orders]
}

/** Reads each of musette's tables with its TOAST table, for at most `withinMs`. Returns those that fail, with the reason. */
export async function findUnreadableTables(store: Pick<Store, 'read'>, withinMs: number): Promise<string[]> {
  const { rows } = await store.read(({ client }) =>
    client.query<{ name: string; relation: string }>(`
      SELECT coalesce(p.inhparent, t.oid, c.oid)::regclass::text AS name, c.oid::regclass::text AS relation
      FROM pg_class c LEFT JOIN pg_class t ON t.reltoastrelid = c.oid LEFT JOIN pg_inherits p ON p.inhrelid = c.oid
      WHERE c.relkind IN ('r', 't') AND coalesce(t.relnamespace, c.relnamespace)::regnamespace::text IN ('training', 'musette', 'bullmq')
        AND has_schema_privilege(c.relnamespace, 'USAGE') ORDER BY 1, 2`),
  )
  const settings = `SET LOCAL statement_timeout = ${withinMs}; SET LOCAL enable_indexonlyscan = off`
  const failed = rows.map(({ name, relation }) =>
    store
      .read(({ client }) => client.query(`${settings}; SELECT count(*) FROM ${relation}`))
      .then(() => [])
      .catch((error: unknown) => [`${name} (${errorLine(error)})`]),
  )
  return (await Promise.all(failed)).flat()
}

/** Finds the identity and the line of this database. */
export async function findIdentity(tx: Tx): Promise<DatabaseIdentity & { lineBeganAt: Date }> {
  const { rows } = await tx.client.query<DatabaseIdentity & { lineBeganAt: Date }>(
    `SELECT identity, line, line_began_at AS "lineBeganAt", earlier_lines AS "earlierLines" FROM training.database`,
  )
  const [row] = rows
  if (!row)
    throw new MusetteError('identity_missing', 'store: training.database has no row; restore a backup')
  return row
}

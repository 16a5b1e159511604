import pg from 'pg'
import { ConfigError } from '../../../kit/errors.ts'
import type { Store } from '../store.ts'

/** The group of logins that see one account. */
const ONE_ACCOUNT = 'musette_one_account'
/** The name of the policies; a changed condition needs a new name, so that they are replaced. */
const POLICY = 'musette_account'
const OLD_POLICY = ONE_ACCOUNT
/** The groups of readers of an account are of the whole server, so that their names say the database. */
const GROUP = `'musette_account_' || (select d.oid from pg_catalog.pg_database d where d.datname = current_database()) || '_'`
/**
 * The account of this session: that of the name of a login for assistants, which musette alone gives, or of the group of a reader.
 * Only a superuser can change session_user: no SET and no set_config of a statement does. It is computed once for a statement.
 */
const ACCOUNT = `(select coalesce(
    substring(session_user::text from '^musette_mcp_[0-9a-f]{8}_account_([0-9]+)$')::integer,
    (select substring(g.rolname::text from '_([0-9]+)$')::integer
     from pg_catalog.pg_auth_members m join pg_catalog.pg_roles g on g.oid = m.roleid join pg_catalog.pg_roles u on u.oid = m.member
     where u.rolname = session_user and g.rolname::text ~ ('^' || ${GROUP} || '[0-9]+$'))))`
/** Tables where NULL is the default workout list of all accounts. */
const WITH_SHARED_ROWS = ['changes', 'workouts']
/** Tables that tell nothing of any rider. */
const OF_NO_RIDER = ['database']

/** Relations of schema training without row security: tables without policies, views with their owner's rights. */
const UNLIMITED = `select format('%I.%I', 'training', c.relname) as name, c.relname as plain, c.relkind as kind,
    (select a.attnotnull from pg_attribute a
     where a.attrelid = c.oid and a.attname = 'account_id' and not a.attisdropped) as account_not_null,
    exists (select from pg_attribute a
            where a.attrelid = c.oid and a.attname = 'activity_id' and not a.attisdropped) as has_activity,
    exists (select from pg_attribute a
            where a.attrelid = c.oid and a.attname = 'file_id' and not a.attisdropped) as has_file
  from pg_class c
  where c.relnamespace = 'training'::regnamespace and (
    c.relkind in ('r', 'p') and not (c.relrowsecurity and exists (
      select from pg_policy p where p.polrelid = c.oid and p.polname = '${POLICY}' and not p.polpermissive))
    or c.relkind = 'v' and not coalesce(c.reloptions, '{}') @> '{security_invoker=true}'
    or c.relkind in ('m', 'f'))`

type Unlimited = {
  name: string
  plain: string
  kind: 'r' | 'p' | 'v' | 'm' | 'f'
  account_not_null: boolean | null
  has_activity: boolean
  has_file: boolean
}

/** A query that has rows when a login of one account would see the rows of others. */
export const FIND_UNLIMITED = `select 1 from (${UNLIMITED}) as u limit 1`

/**
 * Makes row security hold in every relation of schema training for the group `musette_one_account`, and views read with the rights of
 * their reader. For other logins nothing changes. Each relation has a transaction of its own: one that waited for a table while it held
 * another would deadlock with a daemon that writes. Throws ConfigError `one_account_unsupported` before Postgres 15, and for relations
 * that cannot be restricted.
 */
export async function limitToOneAccount(store: Pick<Store, 'transaction'>): Promise<void> {
  const { rows } = await store.transaction(async ({ client }) => {
    const old = await client.query("select where current_setting('server_version_num')::int < 150000")
    if (old.rowCount === 1) throw unsupported('it needs Postgres 15 or later')
    if (!(await hasRole(client, ONE_ACCOUNT))) await client.query(`CREATE ROLE ${ONE_ACCOUNT} NOLOGIN`)
    return client.query<Unlimited>(UNLIMITED)
  })
  const other = rows.find(isUnlimitable)
  if (other) throw unsupported(`${other.name} cannot be limited; drop it or move it to another schema`)
  for (const relation of rows) await store.transaction(({ client }) => limitRelation(client, relation))
}

/** Makes a login one of those that row security limits. */
export async function grantOneAccount(client: pg.ClientBase, login: string): Promise<void> {
  await client.query(`GRANT ${ONE_ACCOUNT} TO ${pg.escapeIdentifier(login)}`)
}

/** Makes row security hold for new tables and views after a migration; does nothing where no login is limited to one account. */
export async function limitAgain(client: pg.ClientBase): Promise<void> {
  if (!(await hasRole(client, ONE_ACCOUNT))) return
  const { rows } = await client.query(
    `select 1 from pg_policy p join pg_class c on c.oid = p.polrelid
     where c.relnamespace = to_regnamespace('training') and p.polname in ('${POLICY}', '${OLD_POLICY}') limit 1`,
  )
  if (rows.length === 0) return
  for (const relation of (await client.query<Unlimited>(UNLIMITED)).rows)
    if (isUnlimitable(relation)) await client.query(`REVOKE SELECT ON ${relation.name} FROM ${ONE_ACCOUNT}`)
    else await limitRelation(client, relation)
}

/** Makes a reader one of an account: a login that reads schema training by the rights of `musette_one_account`, and by no others. */
export async function holdToAccount(client: pg.ClientBase, login: string, accountId: number): Promise<void> {
  const name = pg.escapeIdentifier(login)
  const { rows } = await client.query<{ group: string }>(`select ${GROUP} || $1::integer as group`, [
    accountId,
  ])
  const group = rows[0]?.group ?? ''
  if (!(await hasRole(client, group))) await client.query(`CREATE ROLE ${group} NOLOGIN`)
  await grantOneAccount(client, login)
  // As a member of the readers of all accounts it could become one of them by SET ROLE.
  await client.query(`REVOKE musette_reader FROM ${name}`)
  for (const other of await findGroups(client, login))
    if (other !== group) await client.query(`REVOKE ${other} FROM ${name}`)
  await client.query(`GRANT ${group} TO ${name}`)
  await client.query(`GRANT USAGE ON SCHEMA training TO ${ONE_ACCOUNT}`)
  await client.query(`GRANT SELECT ON ALL TABLES IN SCHEMA training TO ${ONE_ACCOUNT}`)
}

/** Tells whether a login is limited to one account of any database of the server. */
export async function isHeldToAccount(client: pg.ClientBase, login: string): Promise<boolean> {
  return (await findGroups(client, login)).length > 0
}

async function findGroups(client: pg.ClientBase, login: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select g.rolname as name from pg_auth_members m join pg_roles g on g.oid = m.roleid join pg_roles u on u.oid = m.member
     where u.rolname = $1 and g.rolname ~ '^musette_account_[0-9]+_[0-9]+$'`,
    [login],
  )
  return rows.map(({ name }) => name)
}

async function hasRole(client: pg.ClientBase, name: string): Promise<boolean> {
  return (await client.query('select from pg_roles where rolname = $1', [name])).rowCount === 1
}

function isUnlimitable({ kind }: Unlimited): boolean {
  return kind === 'm' || kind === 'f'
}

async function limitRelation(client: pg.ClientBase, relation: Unlimited): Promise<void> {
  const run = (statement: string) => client.query(statement)
  const { name, kind } = relation
  if (kind === 'v') await run(`ALTER VIEW ${name} SET (security_invoker = true)`)
  if (kind !== 'r' && kind !== 'p') return
  for (const policy of [POLICY, OLD_POLICY, 'everyone'])
    await run(`DROP POLICY IF EXISTS ${policy} ON ${name}`)
  await run(`CREATE POLICY everyone ON ${name} USING (true) WITH CHECK (true)`)
  await run(
    `CREATE POLICY ${POLICY} ON ${name} AS RESTRICTIVE FOR SELECT TO ${ONE_ACCOUNT} USING (${conditionOf(relation)})`,
  )
  await run(`ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY`)
}

/** A table without account, activity and FIT file is empty for these logins, so that the views over it work. */
function conditionOf({ plain, account_not_null: notNull, has_activity, has_file }: Unlimited): string {
  if (notNull) return `account_id = ${ACCOUNT}`
  if (has_activity)
    return `activity_id in (select a.activity_id from training.activities a where a.account_id = ${ACCOUNT})`
  if (has_file)
    return `file_id in (select f.file_id from training.fit_files f where f.account_id = ${ACCOUNT})`
  if (OF_NO_RIDER.includes(plain)) return 'true'
  if (notNull === null) return 'false'
  const shared = WITH_SHARED_ROWS.includes(plain) ? ' or account_id is null' : ''
  return `account_id = ${ACCOUNT}${shared}`
}

function unsupported(reason: string): ConfigError {
  return new ConfigError('one_account_unsupported', `a login cannot be limited to one account: ${reason}`)
}

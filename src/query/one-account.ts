import pg from 'pg'
import { ConfigError } from '../kit/errors.ts'
import type { Tx } from '../store/store.ts'

/** The group of logins that see one account; its number is the end of the name of the login. */
const ONE_ACCOUNT = 'musette_one_account'
/** Only a superuser can change session_user: no SET and no set_config of a statement does. */
const ACCOUNT = `substring(session_user::text from '_account_([0-9]+)$')::integer`
/** Tables in which NULL stands for the default workout list, which all accounts share. */
const WITH_SHARED_ROWS = ['changes', 'workouts']

/** Relations of schema training in which row security does not hold: tables without policies, views with their owner's rights. */
const UNLIMITED = `select format('%I.%I', 'training', c.relname) as name, c.relname as plain, c.relkind as kind,
    (select a.attnotnull from pg_attribute a
     where a.attrelid = c.oid and a.attname = 'account_id' and not a.attisdropped) as account_not_null,
    exists (select from pg_attribute a
            where a.attrelid = c.oid and a.attname = 'activity_id' and not a.attisdropped) as has_activity
  from pg_class c
  where c.relnamespace = 'training'::regnamespace and (
    c.relkind in ('r', 'p') and not (c.relrowsecurity and exists (
      select from pg_policy p where p.polrelid = c.oid and p.polname = '${ONE_ACCOUNT}' and not p.polpermissive))
    or c.relkind = 'v' and not coalesce(c.reloptions, '{}') @> '{security_invoker=true}'
    or c.relkind in ('m', 'f'))`

type Unlimited = {
  name: string
  plain: string
  kind: 'r' | 'p' | 'v' | 'm' | 'f'
  account_not_null: boolean | null
  has_activity: boolean
}

/** A query that has rows when a login of one account would see the rows of others. */
export const FIND_UNLIMITED = `select 1 from (${UNLIMITED}) as u limit 1`

/**
 * Makes row security hold in every relation of schema training, for logins of one account alone: the policies restrict the
 * group `musette_one_account`, and views read with the rights of their reader. For other logins nothing changes. Throws
 * ConfigError `one_account_unsupported` before Postgres 15, and for relations that cannot be restricted.
 */
export async function limitToOneAccount(tx: Tx, login: string): Promise<void> {
  const run = (statement: string) => tx.client.query(statement)
  const server = await tx.client.query<{ version: number; known: boolean }>(
    `select current_setting('server_version_num')::int as version,
       exists (select from pg_roles where rolname = '${ONE_ACCOUNT}') as known`,
  )
  if ((server.rows[0]?.version ?? 0) < 150_000) throw unsupported('it needs Postgres 15 or later')
  if (!server.rows[0]?.known) await run(`CREATE ROLE ${ONE_ACCOUNT} NOLOGIN`)
  await run(`GRANT ${ONE_ACCOUNT} TO ${pg.escapeIdentifier(login)}`)
  const { rows } = await tx.client.query<Unlimited>(UNLIMITED)
  for (const relation of rows) {
    const { name, kind } = relation
    if (kind === 'm' || kind === 'f')
      throw unsupported(`${name} cannot be limited; drop it or move it to another schema`)
    if (kind === 'v') {
      await run(`ALTER VIEW ${name} SET (security_invoker = true)`)
      continue
    }
    await run(`DROP POLICY IF EXISTS ${ONE_ACCOUNT} ON ${name}`)
    await run(`DROP POLICY IF EXISTS everyone ON ${name}`)
    await run(`CREATE POLICY everyone ON ${name} USING (true) WITH CHECK (true)`)
    await run(
      `CREATE POLICY ${ONE_ACCOUNT} ON ${name} AS RESTRICTIVE FOR SELECT TO ${ONE_ACCOUNT} USING (${conditionOf(relation)})`,
    )
    await run(`ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY`)
  }
}

/** A table without account and activity is empty for these logins, so that the views over it work. */
function conditionOf({ plain, account_not_null: notNull, has_activity }: Unlimited): string {
  if (notNull) return `account_id = ${ACCOUNT}`
  if (has_activity)
    return `activity_id in (select a.activity_id from training.activities a where a.account_id = ${ACCOUNT})`
  if (notNull === null) return 'false'
  const shared = WITH_SHARED_ROWS.includes(plain) ? ' or account_id is null' : ''
  return `account_id = ${ACCOUNT}${shared}`
}

function unsupported(reason: string): ConfigError {
  return new ConfigError('one_account_unsupported', `a login cannot be limited to one account: ${reason}`)
}

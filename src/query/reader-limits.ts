import pg from 'pg'
import type { Tx } from '../store/store.ts'

/** Rights that every login has on a new server, and by which a read-only login could block others or fill the disk. */
export type OpenRight = 'temporary tables' | 'advisory locks' | 'large objects'

/**
 * The functions of advisory locks and of large objects, and those that act beyond a transaction that is rolled back: they end
 * statements of other sessions, write to the WAL, send notifications, or take a transaction number.
 */
const FUNCTIONS = `pronamespace = 'pg_catalog'::regnamespace
  and (proname ~ '^pg_(try_)?advisory_' or proname ~ '^lo_' or proname in ('loread', 'lowrite',
    'pg_cancel_backend', 'pg_terminate_backend', 'pg_logical_emit_message', 'pg_notify', 'pg_export_snapshot',
    'pg_current_xact_id', 'txid_current'))`

/**
 * Revokes temporary tables, advisory locks, large objects, the other FUNCTIONS and blocks of code (DO) from PUBLIC, as far as
 * the user may: the first needs the owner of the database, the others a superuser. Every role that owns or was granted something in this
 * database keeps these rights, except the roles that match `readers`, an SQL condition on the role `r`; later roles need
 * grants. `wholeServer` means that no other program uses this server: then the right to connect to its other databases is
 * revoked, too.
 */
export async function revokeFromPublic(
  tx: Tx,
  input: { readers: string; wholeServer: boolean },
): Promise<void> {
  const rights = await findOwnRights(tx)
  const database = pg.escapeIdentifier(rights.database)
  const keepers = await findKeepers(tx, input.readers)
  const to = keepers.map((role) => pg.escapeIdentifier(role)).join(', ')
  if (rights.ownsDatabase) {
    if (to) await tx.client.query(`GRANT TEMPORARY ON DATABASE ${database} TO ${to}`)
    await tx.client.query(`REVOKE TEMPORARY ON DATABASE ${database} FROM PUBLIC`)
  }
  const functions = rights.ownsFunctions ? await findPublicFunctions(tx) : []
  if (functions.length > 0) {
    if (to) await tx.client.query(`GRANT EXECUTE ON FUNCTION ${functions.join(', ')} TO ${to}`)
    await tx.client.query(`REVOKE EXECUTE ON FUNCTION ${functions.join(', ')} FROM PUBLIC`)
  }
  if (rights.ownsLanguage) {
    if (to) await tx.client.query(`GRANT USAGE ON LANGUAGE plpgsql TO ${to}`)
    await tx.client.query('REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC')
  }
  if (input.wholeServer) {
    const others = await tx.client.query<{ name: string }>(
      'select datname as name from pg_database where datname <> current_database()',
    )
    for (const { name } of others.rows)
      await tx.client.query(`REVOKE CONNECT ON DATABASE ${pg.escapeIdentifier(name)} FROM PUBLIC`)
  }
}

/** Finds the open rights that a role has. */
export async function findOpenRights(tx: Tx, name: string): Promise<OpenRight[]> {
  const { rows } = await tx.client.query<{ what: OpenRight }>(
    `select what from (values
       (1, 'temporary tables', has_database_privilege($1, current_database(), 'temporary')),
       (2, 'advisory locks', has_function_privilege($1, 'pg_catalog.pg_advisory_lock(bigint)', 'execute')),
       (3, 'large objects', has_function_privilege($1, 'pg_catalog.lo_create(oid)', 'execute'))) as r (place, what, open)
     where open order by place`,
    [name],
  )
  return rows.map(({ what }) => what)
}

async function findOwnRights(tx: Tx) {
  const { rows } = await tx.client.query<{
    database: string
    ownsDatabase: boolean
    ownsFunctions: boolean
    ownsLanguage: boolean
  }>(
    `select datname as database, pg_has_role(datdba, 'usage') as "ownsDatabase",
       (select bool_and(pg_has_role(proowner, 'usage')) from pg_proc where ${FUNCTIONS}) as "ownsFunctions",
       exists (select from pg_language where lanname = 'plpgsql' and pg_has_role(lanowner, 'usage')) as "ownsLanguage"
     from pg_database where datname = current_database()`,
  )
  return rows[0] ?? { database: '', ownsDatabase: false, ownsFunctions: false, ownsLanguage: false }
}

/** Finds the roles that keep the rights. Superusers are left out, because they need no grant. */
async function findKeepers(tx: Tx, readers: string): Promise<string[]> {
  const { rows } = await tx.client.query<{ rolname: string }>(
    `select distinct r.rolname from pg_roles r
     join pg_database d on d.datname = current_database()
     left join pg_shdepend s on s.refclassid = 'pg_authid'::regclass and s.refobjid = r.oid
       and (s.dbid = d.oid or s.classid = 'pg_database'::regclass and s.objid = d.oid)
     where (s.refobjid is not null or r.oid = d.datdba or r.rolname = current_user)
       and not r.rolsuper and r.rolname !~ '^pg_' and not (${readers})
     order by 1`,
  )
  return rows.map(({ rolname }) => rolname)
}

async function findPublicFunctions(tx: Tx): Promise<string[]> {
  const { rows } = await tx.client.query<{ name: string }>(
    `select p.oid::regprocedure::text as name from pg_proc p
     where ${FUNCTIONS} and exists (
       select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
       where a.grantee = 0 and a.privilege_type = 'EXECUTE')
     order by 1`,
  )
  return rows.map(({ name }) => name)
}

import pg from 'pg'
import type { Tx } from '../../core/store/store.ts'

/** Rights that every login has on a new server. With them, a read-only login could block others or fill the disk. */
export type OpenRight = 'temporary tables' | 'advisory locks' | 'large objects'

/**
 * Functions for advisory locks and large objects, and functions with effects beyond a rollback: they end statements of other sessions, write
 * to the WAL, send notifications, or take a transaction number. The XML functions run any statement or read whole schemas into memory.
 */
const FUNCTIONS = `pronamespace = 'pg_catalog'::regnamespace
  and (proname ~ '^pg_(try_)?advisory_' or proname ~ '^lo_' or proname in ('loread', 'lowrite',
    'pg_cancel_backend', 'pg_terminate_backend', 'pg_logical_emit_message', 'pg_notify', 'pg_export_snapshot',
    'pg_current_xact_id', 'txid_current') or proname ~ '^(table|schema|database|query|cursor)_to_xml')`

/**
 * Revokes temporary tables, advisory locks, large objects, the other FUNCTIONS and code blocks (DO) from PUBLIC and from the roles that
 * match `readers`, an SQL condition on the role `r`. It revokes only what the user may: temporary tables need the database's owner, the
 * others a superuser. If PUBLIC loses a right, every other role that owns or was granted something in this database keeps the right; later
 * roles need grants. With `wholeServer`, no other program uses this server, so the right to connect to its other databases is revoked, too.
 */
export async function revokeFromPublic(tx: Tx, input: { readers: string; wholeServer: boolean }) {
  const { rows } = await tx.client.query<{ what: string; public: boolean; from: string }>(
    `select what, bool_or(a.grantee = 0) as public,
       string_agg(case a.grantee when 0 then 'PUBLIC' else quote_ident(pg_get_userbyid(a.grantee)) end, ', ') as from
     from (
       select case when datname = current_database() then 'TEMPORARY' else 'CONNECT' end as privilege,
         case when datname = current_database() then 'TEMPORARY' else 'CONNECT' end || format(' ON DATABASE %I', datname) as what,
         coalesce(datacl, acldefault('d', datdba)) as acl
       from pg_database where (datname = current_database() or $1) and pg_has_role(datdba, 'usage')
       union all
       select 'EXECUTE', format('EXECUTE ON FUNCTION %s', oid::regprocedure), coalesce(proacl, acldefault('f', proowner))
       from pg_proc where ${FUNCTIONS} and pg_has_role(proowner, 'usage')
       union all
       select 'USAGE', 'USAGE ON LANGUAGE plpgsql', coalesce(lanacl, acldefault('l', lanowner))
       from pg_language where lanname = 'plpgsql' and pg_has_role(lanowner, 'usage')) rights, aclexplode(acl) a
     where a.privilege_type = privilege and (a.grantee = 0 or a.grantee in (select r.oid from pg_roles r where ${input.readers}))
     group by what order by what`,
    [input.wholeServer],
  )
  const keepers = await findKeepers(tx, input.readers)
  const to = keepers.map((role) => pg.escapeIdentifier(role)).join(', ')
  for (const right of rows) {
    if (to && right.public) await tx.client.query(`GRANT ${right.what} TO ${to}`)
    await tx.client.query(`REVOKE ${right.what} FROM ${right.from}`)
  }
}

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

/** Finds the roles that keep the rights, without superusers, which need no grant. */
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

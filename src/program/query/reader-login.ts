import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import pg from 'pg'
import { findAccount } from '../../core/store/account-rows.ts'
import { acquireNamedLock, type Tx } from '../../core/store/store.ts'
import { ConfigError } from '../../kit/errors.ts'
import { MINUTE } from '../../kit/time.ts'
import { revokeFromPublic } from './reader-limits.ts'

const READER = 'musette_reader'
/** Comments on the logins that this module made; other roles are never changed, because a name may be mistyped. */
const MARKS = {
  analysts: 'Reads schema training, for analysts; made by musette',
  assistants: 'Reads schema training, for assistants; made by musette',
  people: 'Reads schema training, for musette sql; made by musette',
  // Does not match IS_READER: all its statements are musette's own, so no right needs to be revoked from it or from PUBLIC.
  pages: 'Reads schema training for the pages of musette; made by musette',
} as const
/** An SQL condition on a role `r`: a group of readers, or a login that this module made for statements of others. */
const IS_READER = `r.rolname ~ '^musette_(reader|one_account)$' or coalesce(shobj_description(r.oid, 'pg_authid'), '') ~ '^Reads schema training, .*; made by musette$'`
/** The number of hash rounds that Postgres itself uses. */
const SCRAM_ROUNDS = 4096
/** Maximum number of connections of one login. The embedded server allows 60; Grafana and Metabase each keep a few connections open. */
const CONNECTIONS = { analysts: 10, assistants: 20, people: 20, pages: 40 } as const
/** Disk space for sorts and hashes of one session. Only a superuser can set this limit, and a session cannot change it. */
const TEMP_FILES = '1GB'
/** Statement timeout, ms: long enough for a panel over all samples; a migration waits twice as long for its table locks. */
const STATEMENT_MS = 5 * MINUTE
/** How long a transaction may be idle, ms: an open transaction blocks migrations and vacuum. */
const IDLE_IN_TRANSACTION_MS = 5 * MINUTE

type ReaderLogin = {
  name: string
  /** assistants: statements written by way of a language model; people: for musette sql; pages: musette's own; undefined: analysts */
  readers?: keyof typeof MARKS
  password: string
  /** the verifier that a server has stored for the password; used instead of the password */
  verifier?: string
  /** ms; undefined: 5 minutes */
  statementTimeoutMs: number | undefined
  /** whether no other program uses this server, as for the embedded server */
  wholeServer: boolean
}

/**
 * Creates a login that reads schema `training` and nothing else, or gives an existing login this password and these settings. The login has
 * at most ten connections, for assistants twenty; the two timeouts are defaults that a session may change. Revokes temporary tables,
 * advisory locks and large objects as far as the user may (see `findOpenRights`). The statement contains a SCRAM verifier, not the
 * password, because the server may log statements. Throws ConfigError `reader_name_taken` if another role has this name.
 */
export async function upsertReaderLogin(tx: Tx, login: ReaderLogin): Promise<void> {
  const run = (statement: string) => tx.client.query(statement)
  const name = pg.escapeIdentifier(login.name)
  const readers = login.readers ?? 'analysts'
  // Two processes must not change the same catalog rows at the same time; a migration changes them, too.
  await run('LOCK TABLE musette.lock_migration IN SHARE UPDATE EXCLUSIVE MODE')
  await acquireNamedLock(tx, 'logins', 'of the server')
  const known = await findRole(tx, login.name)
  if (known && !isMark(known.mark, readers)) {
    const message = `role "${login.name}" exists and was not made here; choose another name, or give it the right with: GRANT ${READER} TO "${login.name}"`
    throw new ConfigError('reader_name_taken', message)
  }
  await grantToReader(tx)
  if (!known) await run(`CREATE ROLE ${name}`)
  await run(`COMMENT ON ROLE ${name} IS ${pg.escapeLiteral(MARKS[readers])}`)
  const password = pg.escapeLiteral(login.verifier ?? deriveScramVerifier(login.password))
  await run(`ALTER ROLE ${name} LOGIN PASSWORD ${password}`)
  await run(`GRANT ${READER} TO ${name}`)
  await setLogin(tx, { ...login, readers })
  if (readers !== 'pages') await revokeFromPublic(tx, { readers: IS_READER, wholeServer: login.wholeServer })
}

/** Finds the analysts' logins, with the password verifiers that the server has stored and the only account that a login may see. */
export async function findReaderLogins({ client }: Tx) {
  const [table] = (await client.query(`select where to_regclass('musette.held_logins') is not null`)).rows
  // A server of an earlier major version may have the tables of musette 1.1, where a group names the account.
  const account = table
    ? 'select max(account_id) from musette.held_logins where login = r.rolname'
    : `select max(substring(g.rolname, '^musette_account_[0-9]+_([0-9]+)$')::int) from pg_auth_members m
        join pg_roles g on g.oid = m.roleid where m.member = r.oid`
  const { rows } = await client.query<{
    name: string
    verifier: string
    timeout: number | null
    account: number | null
  }>(
    `select r.rolname as name, r.rolpassword as verifier,
       (select max(substring(s, '^statement_timeout=([1-9][0-9]{0,8})$')::int) from unnest(p.rolconfig) s) as timeout,
       (${account}) as account
     from pg_authid r join pg_roles p using (oid)
     where r.rolcanlogin and r.rolpassword is not null and shobj_description(r.oid, 'pg_authid') = $1 order by 1`,
    [MARKS.analysts],
  )
  return rows
}

/** Renews the settings and rights of our logins, because a login may change its own settings for later sessions. */
export async function renewReaderLogins(tx: Tx, { wholeServer }: { wholeServer: boolean }): Promise<void> {
  const { rows } = await tx.client.query<{ name: string; mark: string; timeout: number | null }>(
    `select r.rolname as name, shobj_description(r.oid, 'pg_authid') as mark,
       (select max(substring(s, '^statement_timeout=([1-9][0-9]{0,8})$')::int) from unnest(r.rolconfig) s) as timeout
     from pg_roles r where r.rolcanlogin and (${IS_READER})`,
  )
  if (rows.length === 0) return
  await acquireNamedLock(tx, 'logins', 'of the server')
  for (const { name, mark, timeout } of rows) {
    const readers = (['assistants', 'people'] as const).find((each) => isMark(mark, each)) ?? 'analysts'
    await setLogin(tx, { name, readers, statementTimeoutMs: timeout ?? undefined })
  }
  await revokeFromPublic(tx, { readers: IS_READER, wholeServer })
}

/** Sets a login's defaults and resets its other settings; does nothing if the settings are right. */
async function setLogin(
  tx: Tx,
  login: Pick<ReaderLogin, 'name' | 'statementTimeoutMs'> & { readers: keyof typeof MARKS },
): Promise<void> {
  const { rows } = await tx.client.query<{ is_super: boolean; database: string; has: string[] }>(
    `select me.rolsuper as is_super, quote_ident(current_database()) as database,
       array_append(coalesce(r.rolconfig, '{}'), 'CONNECTION LIMIT ' || r.rolconnlimit)
         || coalesce((select setconfig from pg_db_role_setting s join pg_database d on d.oid = setdatabase
                      where setrole = r.oid and datname = current_database()), '{}') as has
     from pg_roles me, pg_roles r where me.rolname = current_user and r.rolname = $1`,
    [login.name],
  )
  const { is_super: isSuper = false, database = '', has = [] } = rows[0] ?? {}
  const most = `CONNECTION LIMIT ${CONNECTIONS[login.readers]}`
  const limits = [
    `statement_timeout=${login.statementTimeoutMs ?? STATEMENT_MS}`,
    `idle_in_transaction_session_timeout=${IDLE_IN_TRANSACTION_MS}`,
    ...(isSuper ? [`temp_file_limit=${TEMP_FILES}`] : []),
  ]
  const settings = [
    'search_path=training',
    // A pool would take this for a setting of the server and avoid that server; the transactions of pages are read-only anyway.
    ...(login.readers === 'pages' ? [] : ['default_transaction_read_only=on']),
    // Compiling takes longer than these queries run, and even longer with row security.
    'jit=off',
    // A person stops a statement with Ctrl-C and may sort all samples; the limits of the server apply.
    ...(login.readers === 'people' || login.readers === 'pages' ? [] : limits),
  ]
  if ([most, ...settings].sort().join() === [...has].sort().join()) return
  const changes = [most, `IN DATABASE ${database} RESET ALL`, 'RESET ALL']
  for (const setting of settings) changes.push(`SET ${setting.replace('=', " = '")}'`)
  const role = `ALTER ROLE ${pg.escapeIdentifier(login.name)}`
  await tx.client.query(changes.map((change) => `${role} ${change}`).join('; '))
}

/** Finds the id of the account with this name; undefined without a name. Throws ConfigError `no_account`. */
export async function findAccountId(tx: Tx, name: string | undefined): Promise<number | undefined> {
  if (name === undefined) return undefined
  const account = await findAccount(tx, name)
  if (account) return account.accountId
  throw new ConfigError('no_account', `there is no account "${name}"; run: musette accounts`)
}

/** Reports whether this module made a login of this name for these readers. */
export async function isLoginFor(tx: Tx, readers: keyof typeof MARKS, name: string): Promise<boolean> {
  return isMark((await findRole(tx, name))?.mark ?? null, readers)
}

/** Finds the schemas in which a role may create objects: before Postgres 15, `public` by default. */
export async function findWritableSchemas(tx: Tx, name: string): Promise<string[]> {
  const { rows } = await tx.client.query<{ nspname: string }>(
    `select nspname from pg_namespace where has_schema_privilege($1, oid, 'create') order by nspname`,
    [name],
  )
  return rows.map(({ nspname }) => nspname)
}

function isMark(mark: string | null, readers: keyof typeof MARKS): boolean {
  const withoutNumber = (text: string) => text.replace(/ \(\d+\)/, '')
  return mark !== null && withoutNumber(mark) === withoutNumber(MARKS[readers])
}

async function findRole(tx: Tx, name: string): Promise<{ mark: string | null } | undefined> {
  const { rows } = await tx.client.query<{ mark: string | null }>(
    `select shobj_description(oid, 'pg_authid') as mark from pg_roles where rolname = $1`,
    [name],
  )
  return rows[0]
}

// Needed if the user of the migration could not create roles, and after a restore on another server, because a dump contains no roles.
async function grantToReader(tx: Tx): Promise<void> {
  if (!(await findRole(tx, READER))) await tx.client.query(`CREATE ROLE ${READER} NOLOGIN`)
  const { rows } = await tx.client.query<{ owner: string }>(
    `select pg_get_userbyid(nspowner) as owner from pg_namespace where nspname = 'training'`,
  )
  const owner = pg.escapeIdentifier(rows[0]?.owner ?? '')
  await tx.client.query(`GRANT USAGE ON SCHEMA training TO ${READER}`)
  await tx.client.query(`GRANT SELECT ON ALL TABLES IN SCHEMA training TO ${READER}`)
  await tx.client.query(
    `ALTER DEFAULT PRIVILEGES FOR ROLE ${owner} IN SCHEMA training GRANT SELECT ON TABLES TO ${READER}`,
  )
}

/** Makes the verifier that Postgres stores for a password (RFC 5802 with SHA-256). ASCII passwords need no normalization. */
function deriveScramVerifier(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, SCRAM_ROUNDS, 32, 'sha256')
  const keyOf = (label: string) => createHmac('sha256', salted).update(label).digest()
  const stored = createHash('sha256').update(keyOf('Client Key')).digest('base64')
  const server = keyOf('Server Key').toString('base64')
  return `SCRAM-SHA-256$${SCRAM_ROUNDS}:${salt.toString('base64')}$${stored}:${server}`
}

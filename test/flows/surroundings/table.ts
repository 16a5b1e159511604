import type { Surroundings } from './flow.ts'

type Settings = Readonly<Record<string, string>>

const inDatabase = (settings: Settings): Surroundings => ({
  name: textOf(settings),
  settings,
  of: 'database',
})
const ofRole = (settings: Settings): Surroundings => ({
  name: `${textOf(settings)}, of the role`,
  settings,
  of: 'role',
})
const always = (surroundings: Surroundings): Surroundings => ({ ...surroundings, always: true })
const inShell = (env: Settings): Surroundings => ({ name: textOf(env), env })
const behindPooler = (pool: number): Surroundings => ({ name: `a pooler with ${pool} connections`, pool })
const onMajor = (major: number): Surroundings => ({ name: `Postgres ${major}`, major })
const ofLocale = (name: string, locale: string): Surroundings => ({ name, locale })
const asProcess = (name: string, prefix: readonly string[], env: Settings = {}): Surroundings => ({
  ...{ name, prefix, env },
})

function textOf(settings: Settings): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
}

/** Servers and processes as other users have them. Each must lead to the same tables, or to a message that names the cause. */
export const TABLE: readonly Surroundings[] = [
  // Settings that change texts.
  always(inDatabase({ datestyle: 'German, DMY', extra_float_digits: '0' })),
  ofRole({ datestyle: 'SQL, DMY' }),
  inDatabase({ datestyle: 'Postgres, MDY' }),
  inDatabase({ intervalstyle: 'iso_8601' }),
  ofRole({ intervalstyle: 'sql_standard' }),
  inDatabase({ timezone: 'Asia/Kathmandu' }),
  ofRole({ timezone: 'America/St_Johns' }),
  inDatabase({ bytea_output: 'escape' }),
  inDatabase({ client_encoding: 'LATIN1' }),
  ofRole({ client_encoding: 'SQL_ASCII' }),
  inDatabase({ standard_conforming_strings: 'off', escape_string_warning: 'off' }),
  inDatabase({ xmloption: 'document', xmlbinary: 'hex' }),
  inDatabase({ quote_all_identifiers: 'on' }),
  inDatabase({ lc_monetary: 'C.utf8', lc_numeric: 'C.utf8', lc_time: 'C.utf8' }),
  inDatabase({ timezone_abbreviations: 'Australia' }),
  // Settings that change numbers and conditions.
  ofRole({ extra_float_digits: '-15' }),
  inDatabase({ array_nulls: 'off' }),
  inDatabase({ transform_null_equals: 'on' }),
  // Settings that change isolation, rights and storage.
  always(inDatabase({ default_transaction_isolation: 'serializable' })),
  ofRole({ default_transaction_isolation: 'repeatable read' }),
  ofRole({ default_transaction_isolation: 'serializable', default_transaction_deferrable: 'on' }),
  {
    ...inDatabase({ default_transaction_read_only: 'on' }),
    refused: /accepts no writes.*read-only transaction/,
  },
  inDatabase({ row_security: 'off' }),
  inDatabase({ synchronous_commit: 'off' }),
  inDatabase({ search_path: 'public' }),
  ofRole({ search_path: '' }),
  {
    ...always(inDatabase({ session_replication_role: 'replica' })),
    refused: /"session_replication_role".*ALTER ROLE/,
  },
  {
    ...inDatabase({ default_table_access_method: 'heap2' }),
    prepare: 'CREATE ACCESS METHOD heap2 TYPE TABLE HANDLER heap_tableam_handler',
  },
  inDatabase({ check_function_bodies: 'off' }),
  inDatabase({ password_encryption: 'md5' }),
  // Settings that change plans and time.
  inDatabase({ jit: 'on', jit_above_cost: '0' }),
  inDatabase({ plan_cache_mode: 'force_generic_plan' }),
  inDatabase({ enable_seqscan: 'off', enable_sort: 'off', enable_hashagg: 'off' }),
  inDatabase({ enable_hashjoin: 'off', enable_mergejoin: 'off', enable_indexscan: 'off' }),
  inDatabase({ parallel_setup_cost: '0', parallel_tuple_cost: '0', min_parallel_table_scan_size: '0' }),
  inDatabase({ work_mem: '64kB', synchronize_seqscans: 'off' }),
  inDatabase({ lock_timeout: '1ms' }),
  ofRole({ idle_in_transaction_session_timeout: '200ms', statement_timeout: '1s' }),
  inDatabase({ client_min_messages: 'debug5' }),
  inDatabase({ exit_on_error: 'on' }),
  inDatabase({ restrict_nonsystem_relation_kind: 'view, foreign-table' }),
  // Variables of a shell.
  always(inShell({ PGSSLMODE: 'require' })),
  inShell({ PGSSLMODE: 'verify-full', PGSSLROOTCERT: '/nowhere.pem' }),
  inShell({ PGSSLNEGOTIATION: 'direct' }),
  always(inShell({ PGOPTIONS: '-c datestyle=German -c extra_float_digits=0' })),
  inShell({ PGOPTIONS: '--not-a-setting' }),
  inShell({ NODE_PG_FORCE_NATIVE: '1' }),
  inShell({ PGHOST: '203.0.113.1', PGPORT: '1', PGUSER: 'nobody', PGDATABASE: 'none', PGPASSWORD: 'wrong' }),
  inShell({ PGCLIENT_ENCODING: 'latin1', PGCLIENTENCODING: 'LATIN1' }),
  inShell({ PGBINARY: '1' }),
  inShell({ PGREPLICATION: 'database' }),
  inShell({ PGSERVICE: 'none', PGPASSFILE: '/nowhere', PGAPPNAME: 'other', PGCONNECT_TIMEOUT: '1' }),
  inShell({ PGTZ: 'Asia/Kathmandu', PGDATESTYLE: 'German', PGGEQO: 'off' }),
  // Poolers in front of the server.
  ...[20, 15, 10, 4].map(behindPooler),
  // Versions and locales of the server.
  ...[14, 15, 16, 17].map(onMajor),
  ofLocale('a database in Turkish', `LOCALE 'tr_TR.UTF-8'`),
  ofLocale('a database in German', `LOCALE 'de_DE.UTF-8'`),
  ofLocale('a database in C.utf8', `LOCALE 'C.utf8'`),
  ofLocale(
    'a database in the order of Unicode',
    `LOCALE 'C' LOCALE_PROVIDER builtin BUILTIN_LOCALE 'PG_UNICODE_FAST'`,
  ),
  // Properties of the process.
  inShell({ TZ: 'Pacific/Kiritimati' }),
  inShell({ TZ: 'America/St_Johns', LANG: 'C', LC_ALL: 'C' }),
  inShell({ TZ: ':/nowhere', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' }),
  asProcess('no HOME, no USER', ['env', '-u', 'HOME', '-u', 'USER', '-u', 'LOGNAME']),
  asProcess('umask 077', ['sh', '-c', 'umask 077; exec "$@"', 'sh']),
  asProcess('umask 000', ['sh', '-c', 'umask 000; exec "$@"', 'sh']),
  asProcess('a user without a name, a home that cannot be written', UNNAMED(), { HOME: '/proc/1' }),
]

function UNNAMED(): readonly string[] {
  return process.getuid?.() === 0 ? ['setpriv', '--reuid=54321', '--regid=54321', '--clear-groups'] : []
}

import fc from 'fast-check'
import { readWords } from '../../../kit/table.ts'
import { readCommands } from '../../sql/commands.ts'

/** SECRET is in rows that no statement may see; CHANNEL is notified only by code that must not run. */
export const SECRET = 'sealed-secret-of-the-test'
export const CHANNEL = 'hostile_channel'

const TABLES = readWords('training.activities training.accounts training.samples training.changes activities')
const SECRETS =
  readWords(`musette.credentials musette.migrations musette.locks pg_authid pg_shadow pg_user_mapping
  pg_largeobject pg_statistic pg_hba_file_rules pg_file_settings pg_subscription`)

/** Every Postgres command, and statements that change, lock or reveal a table T. */
const WRITES = [
  ...readCommands().map(({ statement }) => statement),
  'insert into T select * from T',
  'update T set account_id = account_id',
  'delete from T',
  'truncate T cascade',
  'drop table T cascade',
  'alter table T disable row level security',
  'create table training.mine as select * from T',
  'select * into public.mine from T',
  'create function pg_temp.f() returns int language sql as $f$ delete from training.activities returning 1 $f$',
  "alter role current_user password 'x'",
  'alter role current_user set default_transaction_read_only = off',
  'create extension dblink',
  'grant all on T to public',
  'lock table T in access exclusive mode',
  'select * from T for update',
  "notify hostile_channel, 'x'",
  "copy T from program 'id'",
  "copy T to program 'cat'",
  "copy (select 1) to '/tmp/musette-hostile'",
  'reset session authorization',
  'set session authorization postgres',
  'set role musette',
  'set session characteristics as transaction read write',
  'set transaction read write',
  'set default_transaction_read_only = off',
  'commit and chain',
  'rollback and chain',
]

/** Functions that lock, notify, change settings, read files, or run other statements. */
const FUNCTIONS = `
pg_advisory_lock(4711)
pg_try_advisory_lock(4711)
pg_advisory_xact_lock(4711)
pg_notify('hostile_channel', 'x')
set_config('transaction_read_only', 'off', true)
set_config('default_transaction_read_only', 'off', false)
set_config('statement_timeout', '0', false)
set_config('role', 'musette', false)
set_config('session_authorization', 'musette', false)
set_config('row_security', 'off', false)
set_config('search_path', 'musette', false)
set_config('temp_file_limit', '-1', false)
nextval('training.changes_change_id_seq')
nextval(pg_get_serial_sequence('training.accounts', 'account_id'))
setval('training.changes_change_id_seq', 1)
lo_create(4711)
lo_from_bytea(4711, 'x')
lo_import('/etc/passwd')
lo_export(4711, '/tmp/musette-hostile')
lo_put(4711, 0, 'x')
pg_read_file('/etc/passwd')
pg_ls_dir('.')
pg_sleep(0.01)
pg_terminate_backend(pid) from pg_stat_activity
pg_cancel_backend(pid) from pg_stat_activity
pg_reload_conf()
pg_create_restore_point('x')
pg_logical_emit_message(false, 'x', 'y')
pg_create_logical_replication_slot('x', 'pgoutput')
pg_export_snapshot()
pg_current_xact_id()
pg_stat_reset()
pg_promote()
pg_backup_start('x')
pg_import_system_collations('pg_catalog')
dblink('dbname=postgres', 'select 1')
dblink_exec('dbname=postgres', 'create table x ()')
query_to_xml('select * from musette.credentials', true, true, '')
query_to_xml('delete from training.activities', true, true, '')
table_to_xml('musette.credentials', true, true, '')
database_to_xml(true, true, '')
ts_stat('delete from training.activities')
musette.record_change(1, 'x', 'y', '{}')
musette.differences('{}', '{}')
has_table_privilege('musette.credentials', 'select')
pg_get_viewdef('training.today')
current_setting('data_directory')`
  .trim()
  .split('\n')

const table = fc.constantFrom(...TABLES, ...SECRETS)
const write = fc
  .tuple(fc.constantFrom(...WRITES), table)
  .map(([text, name]) => text.replaceAll(/\bT\b/g, name))
const call = fc.constantFrom(...FUNCTIONS)
const read = fc.oneof(
  fc
    .tuple(fc.constantFrom('*', 'count(*)', 'to_jsonb(x)', 'x::text', 'ctid, xmin'), table)
    .map(([what, name]) => `select ${what} from ${name} as x`),
  call.map((text) => `select ${text}`),
  call.map((text) => `select * from ${text}`),
  fc.tuple(call, call).map(([one, two]) => `select ${one.split(' from')[0]}, (select ${two})`),
  fc.tuple(call, table).map(([text, name]) => `select ${text.split(' from')[0]} from ${name}`),
)
const quote = (text: string) => `'${text.replaceAll("'", "''")}'`

const WRAPPERS: Array<(one: string, two: string) => string> = [
  (one) => one,
  (one) => `${one};`,
  (one) => ` /* ${one} */ ${one}`,
  (one) => `-- a comment\n${one}`,
  (one, two) => `${one}; ${two}`,
  (one) => `begin; ${one}; commit`,
  (one) => `commit; ${one}`,
  (one) => `rollback; begin read write; ${one}; commit`,
  (one) => `set transaction read write; ${one}`,
  (one) => `with x as (${one} returning *) select * from x`,
  (one) => `with x as materialized (${one}) select * from x`,
  (one) => `explain analyze ${one}`,
  (one) => `explain (analyze, buffers, format json) ${one}`,
  (one) => `prepare p as ${one}`,
  (one) => `declare c cursor with hold for ${one}`,
  (one) => `do $hostile$ begin ${one}; end $hostile$`,
  (one) =>
    `do $hostile$ begin perform set_config('transaction_read_only', 'off', false); ${one}; commit; end $hostile$`,
  (one) => `do language sql $hostile$ ${one} $hostile$`,
  (one) => `select query_to_xml(${quote(one)}, true, true, '')`,
  (one) => `select xpath('//text()', query_to_xml(${quote(one)}, true, false, ''))`,
  (one) =>
    `select (select set_config('role', 'musette', false)), query_to_xml(${quote(one)}, true, true, '')`,
  (one) => `copy (${one}) to stdout`,
  (one) => `copy (${one} returning *) to stdout`,
  (one) => `create temp view v as ${one}`,
  (one) => `call ${one}`,
  (one) => `execute ${one}`,
  (one, two) => `select * from (${one}) as a union all ${two}`,
  (one) => `select * from generate_series(1, 3) as g, lateral (${one}) as l`,
]

const arbitrary = fc
  .tuple(fc.constantFrom(...WRAPPERS), fc.oneof(write, read), fc.oneof(write, read))
  .map(([wrap, one, two]) => wrap(one, two))

/** Generates statements from a grammar; the same seed gives the same statements. */
export function generateHostile(count: number, seed: number): string[] {
  return fc.sample(arbitrary, { numRuns: count, seed })
}

/** Statements that run long, return much, or ignore a cancel; each must end by the time limit. */
export const ENDLESS = [
  'select pg_sleep(100)',
  "select set_config('statement_timeout', '0', false), pg_sleep(100)",
  'select count(*) from generate_series(1, 100000000000)',
  'with recursive r as (select 1 as n union all select n + 1 from r) select max(n) from r',
  'select * from generate_series(1, 100000000000)',
  "select repeat('x', 300000000)",
  "select repeat('x', 1000000) from generate_series(1, 100000)",
  'select count(*) from pg_class a, pg_class b, pg_class c, pg_class d, pg_class e',
  'do $$ begin loop begin perform pg_sleep(100); exception when query_canceled then null; end; end loop; end $$',
  "do $$ begin perform set_config('statement_timeout', '0', false); loop perform pg_sleep(1); end loop; end $$",
  'do $$ begin loop null; end loop; end $$',
  "select regexp_replace(repeat('a', 10000), '(a*)*(a*)*(a*)*b', 'c')",
  "copy (select repeat('x', 1000) from generate_series(1, 10000000)) to stdout",
] as const

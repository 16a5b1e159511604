import { expect, onTestFinished, test } from 'vitest'
import { DETAIL_FIELDS, LISTED_FIELDS } from '../../../src/core/fields/activity-fields.ts'
import type { Fields } from '../../../src/core/fields/field.ts'
import { SAMPLE_VALUE_FIELDS } from '../../../src/core/fields/sample-fields.ts'
import {
  DEFINITION_FIELDS,
  TRAINING_INFO_FIELDS,
  WORKOUT_FIELDS,
  WORKOUT_SET_FIELDS,
} from '../../../src/core/fields/training-fields.ts'
import { migrate } from '../../../src/core/store/migrate.ts'
import { checkSchema } from '../../../src/core/store/migration/schema-version.ts'
import { openStore } from '../../../src/core/store/store.ts'
import { VERSION } from '../../../src/kit/program-folder.ts'
import { connect } from '../../kit/connect.ts'
import { eventually } from '../../kit/eventually.ts'
import { openOlderDatabase, readMigrations, writeLaterMigrations } from '../../kit/later-migrations.ts'
import { makeTestLog } from '../../kit/log.ts'
import { locksHeldOn, openTestDatabase } from '../../kit/postgres.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { openTestStore, quiet, rowsOf } from './open.ts'

async function openEmptyStore() {
  const database = await openTestDatabase({ migrated: false })
  const store = openStore({ log: quiet }, { connectionString: database.url })
  onTestFinished(async () => {
    await store.close()
    await database.close()
  })
  return { url: database.url, store }
}

test('two migrations at once of a user who may not create roles, and a third one later, apply each step once', async () => {
  const { url, store } = await openEmptyStore()
  const owner = `plain_${process.pid}`
  await store.execute(`CREATE ROLE ${owner} LOGIN PASSWORD 'plain'`)
  onTestFinished(() => store.execute(`DROP OWNED BY ${owner}; DROP ROLE ${owner}`))
  await store.execute(`GRANT CREATE ON DATABASE ${new URL(url).pathname.slice(1)} TO ${owner}`)
  const plainUrl = Object.assign(new URL(url), { username: owner, password: 'plain' })
  const run = () => migrate({ connectionString: plainUrl.href, log: quiet })
  await Promise.all([run(), run()])
  await run()
  await store.read(checkSchema)
  const journal = await rowsOf(store, 'SELECT hash FROM musette.migrations')
  expect(new Set(journal.map((row) => row.hash)).size).toBe((await readMigrations()).length)
})

test('every schema, table and column of ours has a comment', async () => {
  const { sql } = await openTestStore()
  const bare =
    await sql`SELECT n.nspname || coalesce('.' || c.relname, '') || coalesce('.' || a.attname, '') AS what
     FROM pg_namespace n
     LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'v', 'm', 'p')
     LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE n.nspname IN ('training', 'musette')
       AND (obj_description(n.oid, 'pg_namespace') IS NULL OR obj_description(c.oid, 'pg_class') IS NULL
         OR col_description(c.oid, a.attnum) IS NULL)`
  expect(bare).toEqual([])
})

test('each field of the service has its column, of its type and with its comment', async () => {
  const { sql } = await openTestStore()
  const columns =
    await sql`SELECT attrelid::regclass || '.' || attname || ' ' || format_type(atttypid, atttypmod) AS name,
       col_description(attrelid, attnum) AS comment
     FROM pg_attribute WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'training'::regnamespace)`
  const comments = new Map(columns.map(({ name, comment }) => [name, comment]))
  const tables: Record<string, Fields> = {
    activities: { ...LISTED_FIELDS, ...DETAIL_FIELDS },
    training_info: TRAINING_INFO_FIELDS,
    workouts: WORKOUT_FIELDS,
    workout_definitions: DEFINITION_FIELDS,
    workout_sets: WORKOUT_SET_FIELDS,
    samples: SAMPLE_VALUE_FIELDS,
  }
  const types = { number: 'double precision', duration: 'double precision', integer: 'integer', real: 'real' }
  const lacking = Object.entries(tables).flatMap(([table, fields]) =>
    Object.entries(fields).flatMap(([column, { kind, comment }]) => {
      const type = Object.entries(types).find(([name]) => name === kind)?.[1] ?? 'text'
      const isThere = comments.get(`training.${table}.${column} ${type}`) === comment
      return isThere ? [] : [`COMMENT ON COLUMN training.${table}.${column} IS '${comment}'; -- ${type}`]
    }),
  )
  expect(lacking, 'write these, and the columns, in the migration').toEqual([])
})

test('a database that was never migrated is refused with the command to type', async () => {
  const { store } = await openEmptyStore()
  const refusal = (code: string, verb: string) =>
    expect.objectContaining({
      name: 'ConfigError',
      code,
      message: expect.stringMatching(`run: musette ${verb}$`),
    })
  await expect(store.read(checkSchema)).rejects.toEqual(refusal('database_empty', 'login'))
  const read = store.read((tx) => tx.client.query('SELECT 1 FROM training.accounts'))
  await expect(read).rejects.toEqual(refusal('database_unmigrated', 'migrate'))
})

test('only migrate adds tables to the database of another program', async () => {
  const { store, url } = await openEmptyStore()
  const setUp = () => migrate({ connectionString: url, log: quiet, onlyEmpty: true })
  const unknown = (end: RegExp) => ({ code: 'database_unknown', message: expect.stringMatching(end) })
  await store.transaction((tx) => tx.client.query('CREATE TABLE public.invoices (invoice_id int)'))
  for (const refused of [setUp, () => store.read(checkSchema)])
    await expect(refused()).rejects.toMatchObject(
      unknown(/such as public\.invoices; .* run: musette migrate$/),
    )
  expect(await rowsOf(store, "SELECT FROM pg_namespace WHERE nspname = 'training'")).toEqual([])
  await store.transaction((tx) =>
    tx.client.query('CREATE SCHEMA training; CREATE TABLE training.plans (plan_id int)'),
  )
  for (const refused of [setUp, () => migrate({ connectionString: url, log: quiet })])
    await expect(refused()).rejects.toMatchObject(unknown(/such as training\.plans; use another database/))
  await store.transaction((tx) => tx.client.query('DROP SCHEMA training CASCADE'))
  const { from, applied } = await migrate({ connectionString: url, log: quiet })
  expect({ from, applied }).toEqual({ from: undefined, applied: (await readMigrations()).length })
  await store.read(checkSchema)
})

test('the setup of an empty database leaves an older one unchanged', async () => {
  const { url, sql } = await openTestStore()
  const { path: folder, close } = await openTempDir('later')
  onTestFinished(close)
  await writeLaterMigrations(folder, { '9999_later': ['CREATE TABLE training.later (later int)'] })
  const input = { connectionString: url, log: quiet, folder }
  await expect(migrate({ ...input, onlyEmpty: true })).rejects.toMatchObject({ code: 'database_unmigrated' })
  expect(await migrate(input)).toEqual({
    from: (await readMigrations()).at(-1),
    to: '9999_later',
    applied: 1,
  })
  expect(await migrate(input)).toEqual({ from: '9999_later', to: '9999_later', applied: 0 })
  expect(await sql`SELECT FROM training.later`).toEqual([])
})

test('a database with unknown migrations is refused unchanged with the command to type', async () => {
  const { store, url } = await openEmptyStore()
  await store.transaction((tx) =>
    tx.client.query(
      `CREATE SCHEMA musette; CREATE SCHEMA training; CREATE TABLE training.accounts (account_id int);
       CREATE TABLE musette.migrations (id serial PRIMARY KEY, hash text NOT NULL, created_at bigint);
       INSERT INTO musette.migrations (hash, created_at) VALUES ('first', 1795250287307), ('second', 1795250287854)`,
    ),
  )
  const tables = () =>
    rowsOf(store, "SELECT tablename FROM pg_tables WHERE schemaname IN ('training', 'musette')")
  const before = await tables()
  const refusal = expect.objectContaining({
    name: 'ConfigError',
    code: 'database_unknown',
    message: expect.stringMatching(/out of the drop folder.* run: musette login && musette sync$/),
  })
  await expect(migrate({ connectionString: url, log: quiet })).rejects.toEqual(refusal)
  await expect(store.read(checkSchema)).rejects.toEqual(refusal)
  expect(await tables()).toEqual(before)
  expect(await rowsOf(store, 'SELECT hash FROM musette.migrations')).toHaveLength(2)
})

test('a database that a newer version has migrated is refused, for reading and for migrating', async () => {
  const { store, url, sql } = await openTestStore()
  await sql`INSERT INTO musette.migrations (hash, created_at) VALUES ('later', 99999999999999)`
  for (const refused of [store.read(checkSchema), migrate({ connectionString: url, log: quiet })])
    await expect(refused).rejects.toMatchObject({ code: 'database_newer' })
})

test('each migration is recorded with its version of musette, also in a journal without that column', async () => {
  const database = await openOlderDatabase('0016_fit_records')
  const store = openStore({ log: quiet }, { connectionString: database.url })
  onTestFinished(async () => {
    await store.close()
    await database.close()
  })
  const versions = () => rowsOf(store, 'SELECT DISTINCT musette FROM musette.migrations ORDER BY 1')
  expect(await versions()).toEqual([{ musette: VERSION }])
  await store.transaction((tx) => tx.client.query('ALTER TABLE musette.migrations DROP COLUMN musette'))
  await expect(store.read(checkSchema)).rejects.toMatchObject({ code: 'database_unmigrated' })
  await migrate({ connectionString: database.url, log: quiet })
  expect(await versions()).toEqual([{ musette: VERSION }, { musette: null }])
})

test('a migration is repeated after a deadlock', async () => {
  const { store, url, sql } = await openTestStore()
  // The first to wait so long is the one that loses.
  await sql`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''300ms''', current_database()); END $$`
  const { path: folder, close } = await openTempDir('later')
  onTestFinished(close)
  await writeLaterMigrations(folder, {
    '9999_later': [
      'LOCK TABLE training.samples IN ACCESS EXCLUSIVE MODE',
      'SELECT pg_sleep(1)',
      'ALTER TABLE training.activities ADD COLUMN later integer NOT NULL DEFAULT 7',
    ],
  })
  const reader = await connect(url)
  onTestFinished(() => reader.end())
  await reader.query('BEGIN; LOCK TABLE training.activities IN ACCESS SHARE MODE')
  const { log, lines } = makeTestLog()
  const migrating = migrate({ connectionString: url, log, folder })
  const held = locksHeldOn('training.samples', 'AccessExclusiveLock')
  await eventually(async () => (await rowsOf(store, held)).length > 0)
  await reader.query('SELECT count(*) FROM training.samples')
  await reader.query('COMMIT')
  await migrating
  expect(lines.filter(({ msg }) => msg?.includes('deadlock'))).toMatchObject([{ level: 'warn', attempt: 1 }])
  expect(await sql`SELECT later FROM training.activities`).toEqual([])
  expect(await sql`SELECT FROM musette.migrations`).toHaveLength((await readMigrations()).length + 1)
})

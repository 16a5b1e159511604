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
import { readMigrations, writeLaterMigrations } from '../../kit/later-migrations.ts'
import { makeTestLog } from '../../kit/log.ts'
import { openForTest } from '../../kit/open-for.ts'
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

test('a user who may not create roles can migrate', async () => {
  const { url, store } = await openEmptyStore()
  const owner = `plain_${process.pid}`
  await store.execute(`CREATE ROLE ${owner} LOGIN PASSWORD 'plain'`)
  onTestFinished(() => store.execute(`DROP OWNED BY ${owner}; DROP ROLE ${owner}`))
  await store.execute(`GRANT CREATE ON DATABASE ${new URL(url).pathname.slice(1)} TO ${owner}`)
  const plainUrl = Object.assign(new URL(url), { username: owner, password: 'plain' })
  await migrate({ connectionString: plainUrl.href, log: quiet })
  await store.read(checkSchema)
})

test('every schema, table and column has a comment', async () => {
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

test('each field of the service has a column with its type and comment', async () => {
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
  expect(lacking, 'add these comments, and the columns, to the migration').toEqual([])
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

test('only migrate changes an older database, and records the version of musette', async () => {
  const { url, sql } = await openTestStore()
  const { path: folder } = await openForTest(openTempDir('later'))
  await writeLaterMigrations(folder, { '9999_later': ['CREATE TABLE training.later (later int)'] })
  // As in a journal from before the column existed.
  await sql`ALTER TABLE musette.migrations DROP COLUMN musette`
  const input = { connectionString: url, log: quiet, folder }
  await expect(migrate({ ...input, onlyEmpty: true })).rejects.toMatchObject({ code: 'database_unmigrated' })
  const from = (await readMigrations()).at(-1)
  expect(await migrate(input)).toEqual({ from, to: '9999_later', applied: 1 })
  expect(await migrate(input)).toEqual({ from: '9999_later', to: '9999_later', applied: 0 })
  expect(await sql`SELECT FROM training.later`).toEqual([])
  const versions = await sql`SELECT DISTINCT musette FROM musette.migrations ORDER BY 1`
  expect(versions).toEqual([{ musette: VERSION }, { musette: null }])
})

test('a database with an unknown migration is refused with the commands to run', async () => {
  const { store, url, sql } = await openTestStore()
  await sql`INSERT INTO musette.migrations (hash, created_at) VALUES ('first', 1795250287307)`
  const message = expect.stringMatching(/out of the drop folder.* run: musette login && musette sync$/)
  for (const refused of [store.read(checkSchema), migrate({ connectionString: url, log: quiet })])
    await expect(refused).rejects.toMatchObject({ code: 'database_unknown', message })
})

test('a migration is repeated after a deadlock', async () => {
  const { store, url, sql } = await openTestStore()
  // The session that first waits this long loses the deadlock.
  await sql`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''300ms''', current_database()); END $$`
  const { path: folder } = await openForTest(openTempDir('later'))
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

test('a database that was never migrated is refused with the command to run', async () => {
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

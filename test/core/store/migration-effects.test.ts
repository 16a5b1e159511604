import { readMigrationFiles } from 'drizzle-orm/migrator'
import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { disableTriggers } from '../../../src/core/store/migrate.ts'
import {
  type Effects,
  findMigrationPlan,
  readEffects,
} from '../../../src/core/store/migration/migration-plan.ts'
import { readJournal } from '../../../src/core/store/migration/schema-version.ts'
import { connect } from '../../kit/connect.ts'
import { openOlderDatabase, writeLaterMigrations } from '../../kit/later-migrations.ts'
import { openForTest } from '../../kit/open-for.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { openTestStore } from './open.ts'

/** Rows in the tables of the first version, so that later migrations have rows to read and to change. */
const ROWS = `
  INSERT INTO training.accounts (name, base_url) VALUES ('default', 'http://127.0.0.1:9');
  INSERT INTO training.activities (account_id, path, listed_at, wanted_at, elapsed_s, sample_count)
    SELECT 1, 'p' || n, now(), now(), 3600, 3601 FROM generate_series(1, 3) AS n;
  INSERT INTO training.activity_intensity (activity_id) SELECT activity_id FROM training.activities;
  INSERT INTO training.uploads (account_id, content_id, file_name, size_bytes, seen_at) VALUES (1, 'c', 'a.fit', 1, now());
  INSERT INTO training.fit_files (account_id, content_id, size_bytes, parts, records, fields, read_at)
    VALUES (1, 'c', 1, 1, 1, '{}', now())`

/** The relations of our schemas by oid, each with the file that holds its rows. */
const RELATIONS = `SELECT c.oid, n.nspname || '.' || c.relname AS name, pg_relation_filenode(c.oid) AS file
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname IN ('training', 'musette') AND c.relkind IN ('r', 'p', 'v', 'm')`

const LOCKS = `SELECT relation AS oid, array_agg(mode) AS modes FROM pg_locks
  WHERE pid = pg_backend_pid() AND locktype = 'relation' AND granted GROUP BY 1`

/** A session adds up its counts over several transactions, until it reports them. */
const SCANS = `SELECT relid AS oid, (seq_scan + coalesce(idx_scan, 0))::int AS scans FROM pg_stat_xact_all_tables`

/** The lock modes that make others wait, strongest first. */
const WAITS = {
  all: ['AccessExclusiveLock'],
  writes: ['ExclusiveLock', 'ShareRowExclusiveLock', 'ShareLock'],
  rows: ['RowExclusiveLock'],
} as const

async function measure(client: pg.Client, statements: readonly string[]): Promise<Effects['tables']> {
  const find = async <T extends object>(text: string) => (await client.query<{ oid: number } & T>(text)).rows
  const before = await find<{ name: string; file: number | null }>(RELATIONS)
  await client.query('BEGIN')
  const scanned = new Map((await find<{ scans: number }>(SCANS)).map(({ oid, scans }) => [oid, scans]))
  for (const statement of statements) await client.query(statement)
  const locks = new Map((await find<{ modes: string }>(LOCKS)).map(({ oid, modes }) => [oid, modes]))
  const scans = await find<{ scans: number }>(SCANS)
  const read = new Set(scans.filter((now) => now.scans > (scanned.get(now.oid) ?? 0)).map(({ oid }) => oid))
  const files = new Map((await find<{ file: number | null }>(RELATIONS)).map(({ oid, file }) => [oid, file]))
  await client.query('COMMIT')
  const tables = before.flatMap(({ oid, name, file }) => {
    const has = (modes: readonly string[]) => modes.some((mode) => locks.get(oid)?.includes(mode))
    const waits = (['all', 'writes', 'rows'] as const).find((kind) => has(WAITS[kind])) ?? 'none'
    const isRewritten = files.has(oid) && files.get(oid) !== file
    const work = isRewritten ? 'rewritten' : has(WAITS.rows) ? 'changed' : read.has(oid) ? 'read' : 'none'
    return waits === 'none' && work === 'none' ? [] : [[name, { waits, work }] as const]
  })
  return Object.fromEntries(tables.sort(([a], [b]) => (a < b ? -1 : 1)))
}

test('the effects name the tables that each migration locks, reads, changes and rewrites', async () => {
  const [first, ...later] = await readJournal()
  const database = await openOlderDatabase(first?.tag ?? '')
  const client = await connect(database.url)
  onTestFinished(async () => {
    await client.end()
    await database.close()
  })
  const measured: Record<string, Effects['tables']> = { [first?.tag ?? '']: {} }
  await client.query(ROWS)
  const migrations = readMigrationFiles({ migrationsFolder: 'drizzle' })
  for (const { when, tag } of later) {
    // As in a migration, which disables the triggers, so that their work is no effect of its statements.
    await disableTriggers(client)
    const statements = migrations.find(({ folderMillis }) => folderMillis === when)?.sql ?? []
    measured[tag] = await measure(client, statements)
  }
  const effects = await readEffects()
  expect(Object.fromEntries(Object.entries(effects).map(([tag, { tables }]) => [tag, tables]))).toEqual(
    measured,
  )
  for (const { does } of Object.values(effects)) expect(does).toMatch(/^[a-z].{10,}[^.]$/)
})

test('the plan of a migration without known effects is refused', async () => {
  const { path: folder } = await openForTest(openTempDir('later'))
  await writeLaterMigrations(folder, { '9999_later': ['CREATE TABLE training.later (later int)'] })
  const { store } = await openTestStore()
  await expect(store.read(({ client }) => findMigrationPlan(client, folder))).rejects.toMatchObject({
    code: 'migrations_missing',
    message: expect.stringContaining('9999_later'),
  })
})

import { readFile } from 'node:fs/promises'
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { expect, test } from 'vitest'
import * as schema from '../../../src/core/store/schema/index.ts'
import { readMigrations } from '../../kit/later-migrations.ts'
import { openForTest } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'

type Snapshot = ReturnType<typeof generateDrizzleJson>

// drizzle-kit cannot declare unlogged tables. They hold state that processes share, and nothing permanent.
const TABLES = `pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname in ('training', 'musette')
  and c.relkind = 'r' and c.relpersistence = 'p' and c.relname <> 'migrations'`

/** What a table consists of in Postgres: columns (by name, because a column that a migration adds comes last), constraints and indexes. */
const QUERIES = {
  columns: `select n.nspname || '.' || c.relname as of, attname, format_type(atttypid, atttypmod) as type, attnotnull, attidentity,
      pg_get_expr(adbin, adrelid) as default_value
    from ${TABLES} join pg_attribute on attrelid = c.oid and attnum > 0
    left join pg_attrdef on adrelid = attrelid and adnum = attnum order by 1, 2`,
  constraints: `select n.nspname || '.' || c.relname as of, conname, pg_get_constraintdef(k.oid) as definition
    from ${TABLES} join pg_constraint k on conrelid = c.oid and contype <> 't' order by 1, 2`,
  indexes: `select n.nspname || '.' || c.relname as of, pg_get_indexdef(indexrelid) as definition
    from ${TABLES} join pg_index on indrelid = c.oid order by 1, 2`,
}

async function readSnapshot(): Promise<Snapshot> {
  const [number] = (await readMigrations()).at(-1)?.split('_') ?? []
  return JSON.parse(await readFile(`drizzle/meta/${number}_snapshot.json`, 'utf8'))
}

/** Opens a database that has only the tables that drizzle-kit makes from the declared schema. */
async function openDeclared(): Promise<string> {
  const database = await openForTest(openTestDatabase({ migrated: false }))
  const nothing = generateDrizzleJson({})
  const statements = await generateMigration(nothing, generateDrizzleJson(schema, nothing.id))
  await queryOnce(database.url, statements.join('\n'))
  return database.url
}

async function openMigrated(): Promise<string> {
  const database = await openForTest(openTestDatabase())
  return database.url
}

test('the snapshot of the last migration equals the declared schema; if not: npm run db:generate', async () => {
  const snapshot = await readSnapshot()
  expect(await generateMigration(snapshot, generateDrizzleJson(schema, snapshot.id))).toEqual([])
})

test('the migrations create the declared columns, constraints and indexes', async () => {
  const [declared, migrated] = [await openDeclared(), await openMigrated()]
  for (const [what, query] of Object.entries(QUERIES)) {
    const rows = await queryOnce(declared, query)
    expect(rows.length, what).toBeGreaterThan(20)
    expect(await queryOnce(migrated, query), what).toEqual(rows)
  }
})

test('every function resolves its names independently of the search_path', async () => {
  const functions = `from pg_proc where pronamespace::regnamespace::text in ('training', 'musette')`
  const url = await openMigrated()
  expect((await queryOnce(url, `select ${functions}`)).length).toBeGreaterThan(5)
  const open = `select oid::regprocedure::text as name ${functions} and prosqlbody is null
    and coalesce(not proconfig @> '{"search_path=pg_catalog, pg_temp"}', true)`
  expect(await queryOnce(url, open)).toEqual([])
})

test('texts and places have no statistics, in new and in older databases', async () => {
  const url = await openMigrated()
  const columns = `select tablename || '.' || attname as name from pg_stats where schemaname = 'training' and attname in
    ('name', 'description', 'start_lat', 'start_lng', 'south', 'north', 'west', 'east', 'file_name', 'lat', 'lng')`
  await queryOnce(
    url,
    `with a as (insert into training.accounts (name, base_url) select 'a' || n, 'http://127.0.0.1:9' from generate_series(1, 9) n returning account_id)
     insert into training.activities (account_id, path, name, start_lat, listed_at, wanted_at) select account_id, 'p', 'ride', 50, now(), now() from a`,
  )
  await queryOnce(url, 'analyze training.accounts, training.activities')
  expect(await queryOnce(url, columns)).toEqual([])
  await queryOnce(
    url,
    'alter table training.activities alter start_lat set statistics 100, alter name set statistics 100',
  )
  await queryOnce(url, 'analyze training.activities')
  expect(await queryOnce(url, columns)).toHaveLength(2)
  const migration = readMigrationFiles({ migrationsFolder: 'drizzle' }).flatMap(({ sql }) => sql)
  await queryOnce(url, migration.find((statement) => statement.includes('SET STATISTICS 0')) ?? '')
  expect(await queryOnce(url, columns)).toEqual([])
})

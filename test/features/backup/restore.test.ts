import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { migrate } from '../../../src/core/store/migrate.ts'
import { acquireNamedLock } from '../../../src/core/store/store.ts'
import type { Manifest } from '../../../src/features/backup/archive/manifest.ts'
import { openArchive } from '../../../src/features/backup/archive/read-archive.ts'
import { openDaemon } from '../../../src/program/daemon/daemon.ts'
import { ROLES } from '../../../src/program/daemon/roles.ts'
import { readConfig } from '../../kit/config.ts'
import { eventually } from '../../kit/eventually.ts'
import { readMigrations, writeLaterMigrations } from '../../kit/later-migrations.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openTestDatabase, queryOnce, type TestDatabase } from '../../kit/postgres.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'
import { backUpToMemory, contentOf, fill, forge, restoreInto } from './rig.ts'

const log = makeSilentLog()
let source: TestDatabase
let later: TempDir
let whole: Buffer
beforeAll(async () => {
  source = await openTestDatabase()
  await fill(source.url)
  whole = await backUpToMemory(source.url)
  later = await openTempDir('later')
  await writeLaterMigrations(later.path, {
    '9999_later': [
      `ALTER TABLE training.accounts ADD COLUMN motto text NOT NULL DEFAULT 'ride'`,
      `UPDATE training.accounts SET motto = 'upgraded'`,
      'CREATE TABLE training.later (account_id integer REFERENCES training.accounts)',
      'INSERT INTO training.later SELECT account_id FROM training.accounts',
    ],
  })
})
afterAll(async () => {
  await source.close()
  await later.close()
})

async function openTarget(options?: { migrated?: boolean }): Promise<TestDatabase> {
  const database = await openTestDatabase(options)
  onTestFinished(() => database.close())
  return database
}

test('a backup restored into an empty database equals the old one row for row', async () => {
  const target = await openTarget({ migrated: false })
  await restoreInto(target.url, whole)
  expect(await contentOf(target.url)).toEqual(await contentOf(source.url))
})

test('the change feed shows a restore, and repeats no number in two databases of one backup', async () => {
  const feeds = []
  for (const _ of [1, 2]) {
    const { url } = await openTarget({ migrated: false })
    await restoreInto(url, whole)
    await queryOnce(url, `update training.activities set name = 'Later' where path = 'p1'`)
    feeds.push(
      await queryOnce(
        url,
        `select change_id::float8 as number, kind, detail from training.changes order by 1`,
      ),
    )
  }
  const [newest] = await queryOnce(source.url, 'select max(change_id)::int as last from training.changes')
  for (const feed of feeds) {
    expect(feed.slice(-2)).toMatchObject([
      { kind: 'restored', detail: { up_to: newest?.last, backup_made_at: expect.any(String) } },
      { kind: 'activity.changed' },
    ])
    // Years of changes, a thousand in a second, would not come this far.
    expect(feed.at(-2)?.number).toBeGreaterThan(1e15)
  }
  const numbers = feeds.flatMap((feed) => feed.slice(-2).map(({ number }) => number))
  expect(new Set(numbers).size).toBe(4)
})

test('databases restored from one backup keep its identity and have separate lines, as the feed shows', async () => {
  const lines = []
  for (const _ of [1, 2]) {
    const { url } = await openTarget({ migrated: false })
    await restoreInto(url, whole)
    const [database] = await queryOnce(url, 'select * from training.database')
    const [restored] = await queryOnce(url, `select detail from training.changes where kind = 'restored'`)
    expect(restored?.detail).toMatchObject({ identity: database?.identity, line: database?.line })
    lines.push(database)
  }
  const [before] = await queryOnce(source.url, 'select * from training.database')
  const expected = { identity: before?.identity, earlier_lines: [before?.line] }
  expect(lines).toMatchObject([expected, expected])
  expect(new Set([before, ...lines].map((each) => each?.line)).size).toBe(3)
  const { manifest } = await openArchive(Readable.from([whole]))
  expect(manifest.database).toEqual({ identity: before?.identity, line: before?.line })
})

test('a backup without an identity gets one by its restore', async () => {
  const older = await forge(whole, (manifest) => {
    manifest.tables = manifest.tables.filter(({ name }) => name !== 'training.database')
    delete manifest.database
  })
  const { url } = await openTarget({ migrated: false })
  await restoreInto(url, older)
  const [database] = await queryOnce(url, 'select * from training.database')
  const [before] = await queryOnce(source.url, 'select * from training.database')
  expect(database?.identity).toEqual(expect.any(String))
  expect(database?.identity).not.toBe(before?.identity)
})

test.each([
  ['never migrated', undefined],
  ['at the version of the backup', 'drizzle'],
  ['at the later version', 'later'],
])('an older backup is migrated after the restore into a database %s', async (_, at) => {
  const target = await openTarget({ migrated: false })
  const folder = at === 'later' ? later.path : at
  if (folder !== undefined) await migrate({ connectionString: target.url, log, folder })
  await restoreInto(target.url, whole, { folder: later.path })
  expect(await queryOnce(target.url, 'select name, motto from training.accounts')).toEqual([
    { name: 'default', motto: 'upgraded' },
  ])
  expect(await queryOnce(target.url, 'select account_id from training.later')).toEqual([{ account_id: 1 }])
  const versions = await queryOnce(target.url, 'select created_at from musette.migrations')
  expect(versions).toHaveLength((await readMigrations()).length + 1)
})

test('tables that others depend on are not replaced by those of an older backup', async () => {
  const target = await openTarget({ migrated: false })
  await migrate({ connectionString: target.url, log, folder: later.path })
  await queryOnce(target.url, 'create view public.mine as select * from training.activities')
  await expect(restoreInto(target.url, whole, { folder: later.path })).rejects.toMatchObject({
    code: 'restore_schema_used',
  })
  expect(await queryOnce(target.url, 'select * from public.mine')).toEqual([])
})

test.each([
  ['a later version', 'backup_newer', (manifest: Manifest) => manifest.migrations.push(99999999999999)],
  ['a later layout', 'backup_newer', (manifest: Manifest) => Object.assign(manifest, { format: 2 })],
  ['unknown migrations', 'backup_unknown', (manifest: Manifest) => manifest.migrations.unshift(5)],
  ['unknown columns', 'backup_unknown', (manifest: Manifest) => manifest.tables[0]?.columns.push('motto')],
  [
    'more rows than it holds',
    'backup_damaged',
    (manifest: Manifest) => manifest.tables.map((table) => ++table.rows),
  ],
] as const)('a backup of %s is refused, and the database is left as it is', async (_, code, change) => {
  const target = await openTarget()
  const before = await contentOf(target.url)
  await expect(restoreInto(target.url, await forge(whole, change))).rejects.toMatchObject({ code })
  expect(await contentOf(target.url)).toEqual(before)
})

test('a restore goes into a database in which a daemon ran without an account', async () => {
  const target = await openTarget()
  const folder = await openTempDir('restore')
  onTestFinished(() => folder.close())
  const config = readConfig({
    DATABASE_URL: target.url,
    MUSETTE_DATA_DIR: folder.path,
    MUSETTE_HTTP: 'off',
    MUSETTE_EXPORT_DIR: join(folder.path, 'export'),
  })
  await mkdir(config.drop.dir, { recursive: true })
  await writeFile(join(config.drop.dir, 'ride.fit'), 'a file without an account')
  const daemon = await openDaemon(config, log, { roles: ROLES, signal: new AbortController().signal })
  for (const table of ['training.sync_runs', 'training.waiting_files'])
    await eventually(async () => (await queryOnce(target.url, `select from ${table}`)).length > 0, {
      what: table,
    })
  await daemon.app.store.transaction((tx) => acquireNamedLock(tx, 'activity list', 1))
  await daemon.close()
  await restoreInto(target.url, whole)
  expect(await contentOf(target.url)).toEqual(await contentOf(source.url))
})

test('a restore goes into an empty database only', async () => {
  const target = await openTarget()
  await queryOnce(target.url, "insert into training.drift values ('e', 'f', 'type', null, now(), now())")
  await expect(restoreInto(target.url, whole)).rejects.toMatchObject({
    name: 'ConfigError',
    code: 'restore_not_empty',
    message: expect.stringContaining('training.drift'),
  })
  expect(await queryOnce(target.url, 'select count(*)::int as n from training.accounts')).toEqual([{ n: 0 }])
})

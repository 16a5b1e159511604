import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
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
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce, type TestDatabase } from '../../kit/postgres.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { backUpToMemory, contentOf, fill, forge, restoreInto } from './rig.ts'

const log = makeSilentLog()
const LINE = 'select identity, line, earlier_lines from training.database'
const source = openForAll(openTestDatabase)
const later = openForAll(() => openTempDir('later'))
let whole: Buffer
beforeAll(async () => {
  await fill(source.url)
  whole = await backUpToMemory(source.url)
  await writeLaterMigrations(later.path, {
    '9999_later': [
      `ALTER TABLE training.accounts ADD COLUMN motto text NOT NULL DEFAULT 'ride'`,
      `UPDATE training.accounts SET motto = 'upgraded'`,
      'CREATE TABLE training.later (account_id integer REFERENCES training.accounts)',
      'INSERT INTO training.later SELECT account_id FROM training.accounts',
    ],
  })
})

async function openTarget(options?: { migrated?: boolean }): Promise<TestDatabase> {
  const database = await openTestDatabase(options)
  onTestFinished(() => database.close())
  return database
}

test('databases restored from one backup share its identity but begin separate lines', async () => {
  const [before] = await queryOnce(source.url, LINE)
  const [newest] = await queryOnce(source.url, 'select max(change_id)::int as last from training.changes')
  const [lines, numbers] = [new Set([before?.line]), new Set()]
  for (const _ of [1, 2]) {
    const { url } = await openTarget({ migrated: false })
    await restoreInto(url, whole)
    expect(await contentOf(url)).toEqual(await contentOf(source.url))
    const [{ line, ...now } = {}] = await queryOnce(url, LINE)
    expect(now).toEqual({ identity: before?.identity, earlier_lines: [before?.line] })
    lines.add(line)
    await queryOnce(url, `update training.activities set name = 'Later' where path = 'p1'`)
    const text =
      'select change_id::float8 as number, kind, detail from training.changes order by 1 desc limit 2'
    const [changed, restored] = await queryOnce(url, text)
    expect(changed?.kind).toBe('activity.changed')
    const detail = {
      up_to: newest?.last,
      backup_made_at: expect.any(String),
      line,
      identity: before?.identity,
    }
    expect(restored).toMatchObject({ kind: 'restored', detail })
    // Years with a thousand changes a second would not reach this number.
    expect(restored?.number).toBeGreaterThan(1e15)
    for (const change of [changed, restored]) numbers.add(change?.number)
  }
  expect([lines.size, numbers.size]).toEqual([3, 4])
  const { manifest } = await openArchive(Readable.from([whole]))
  expect(manifest.database).toEqual({ identity: before?.identity, line: before?.line })
})

test.each([
  ['never migrated', undefined],
  ['at the version of the backup', 'drizzle'],
  ['at the later version', 'later'],
])('an older backup is migrated after the restore into a database %s', async (_, at) => {
  const { url } = await openTarget({ migrated: false })
  const folder = at === 'later' ? later.path : at
  if (folder !== undefined) await migrate({ connectionString: url, log, folder })
  await restoreInto(url, whole, { folder: later.path })
  const rows =
    'select name, motto, l.account_id from training.accounts join training.later l using (account_id)'
  expect(await queryOnce(url, rows)).toEqual([{ name: 'default', motto: 'upgraded', account_id: 1 }])
  const versions = await queryOnce(url, 'select created_at from musette.migrations')
  expect(versions).toHaveLength((await readMigrations()).length + 1)
})

type Forged = [what: string, code: string, change: (manifest: Manifest) => unknown]
const FORGED: Forged[] = [
  ['a later version', 'backup_newer', ({ migrations }) => migrations.push(99999999999999)],
  ['a later layout', 'backup_newer', (manifest) => Object.assign(manifest, { format: 2 })],
  ['unknown migrations', 'backup_unknown', ({ migrations }) => migrations.unshift(5)],
  ['unknown columns', 'backup_unknown', ({ tables }) => tables[0]?.columns.push('motto')],
  ['more rows than it holds', 'backup_damaged', ({ tables }) => tables.map((table) => ++table.rows)],
]

test('an unknown backup, and a database that is in use or not empty, are refused unchanged', async () => {
  const { url } = await openTarget()
  const before = await contentOf(url)
  for (const [what, code, change] of FORGED) {
    await expect(restoreInto(url, await forge(whole, change)), what).rejects.toMatchObject({ code })
    expect(await contentOf(url), what).toEqual(before)
  }
  await queryOnce(url, "insert into training.drift values ('e', 'f', 'type', null, now(), now())")
  await expect(restoreInto(url, whole)).rejects.toMatchObject({
    name: 'ConfigError',
    code: 'restore_not_empty',
    message: expect.stringContaining('training.drift'),
  })
  await queryOnce(url, 'delete from training.drift')
  await migrate({ connectionString: url, log, folder: later.path })
  await queryOnce(url, 'create view public.mine as select * from training.activities')
  const used = restoreInto(url, whole, { folder: later.path })
  await expect(used).rejects.toMatchObject({ code: 'restore_schema_used' })
  expect(await queryOnce(url, 'select * from public.mine')).toEqual([])
})

test('a restore accepts a database in which a daemon ran without an account', async () => {
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

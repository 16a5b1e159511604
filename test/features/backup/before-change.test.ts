import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import { applyMigrations, withMigrationLock } from '../../../src/core/store/migrate.ts'
import { readJournal } from '../../../src/core/store/migration/schema-version.ts'
import { openEmbeddedPostgres } from '../../../src/embedded/embedded.ts'
import { openArchive } from '../../../src/features/backup/archive/read-archive.ts'
import { findColumns, findKnownTables } from '../../../src/features/backup/database/tables.ts'
import { momentOf, openOlderDatabase } from '../../kit/later-migrations.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { typeVerb } from '../../program/doctor/rig.ts'

/** The last migration of an early version of the tables of 1.0.0, and one account in them. */
const OLDER = '0016_fit_records'
const ACCOUNT =
  "insert into training.accounts (name, base_url, needs_login) values ('default', 'http://127.0.0.1:9', false)"
const VERSION = 'select max(created_at)::text as version from musette.migrations'

const folder = openForAll(() => openTempDir('before-change'))

async function openOlder(name: string) {
  const database = await openOlderDatabase(OLDER)
  onTestFinished(() => database.close())
  await queryOnce(database.url, ACCOUNT)
  const dir = join(folder.path, name)
  const env = {
    DATABASE_URL: database.url,
    MUSETTE_DATA_DIR: join(folder.path, 'data'),
    MUSETTE_BACKUP_DIR: dir,
  }
  return {
    url: database.url,
    dir,
    env,
    version: async () => (await queryOnce(database.url, VERSION))[0]?.version,
  }
}

it('this version knows all tables and columns of versions since 1.0.0', async () => {
  const database = await openTestDatabase({ migrated: false })
  onTestFinished(() => database.close())
  const versions = (await readJournal()).filter(({ tag }) => tag >= OLDER)
  expect(versions.length).toBeGreaterThan(10)
  for (const { tag, when } of versions) {
    await withMigrationLock({ connectionString: database.url, log: makeSilentLog() }, async (client) => {
      await applyMigrations(client, { upTo: when })
      const known = new Map(
        (await findKnownTables(client)).map(({ name, columns }) => [name, [...columns].sort()]),
      )
      const there = new Map(
        [...(await findColumns(client))].map(([name, columns]) => [name, [...columns].sort()]),
      )
      expect(known, tag).toEqual(there)
    })
  }
})

it('a migration makes a verified backup of the older tables first, as its plan says', async () => {
  const { url, dir, env, version } = await openOlder('backups')
  const before = await version()
  const { stdout } = await runVerb(['migrate', '--plan'], { env })
  expect(stdout).toMatch(
    new RegExp(`it makes a verified backup in ${dir}, which needs up to [\\d.]+ MB there`),
  )
  expect(await version()).toBe(before)
  expect(await runVerb(['migrate'], { env })).toMatchObject({ code: 0 })
  expect(await version()).not.toBe(before)
  const [name = '', ...others] = await readdir(dir)
  expect([name, others]).toEqual([expect.stringMatching(/^musette-\d{8}T\d{6}Z-[0-9a-f]{8}\.tar$/), []])
  const { manifest } = await openArchive(Readable.from([await readFile(join(dir, name))]))
  expect(String(Math.max(...manifest.migrations))).toBe(before)
  const target = await openTestDatabase({ migrated: false })
  onTestFinished(() => target.close())
  const restored = await runVerb(['restore', join(dir, name)], { env: { ...env, DATABASE_URL: target.url } })
  expect(restored.code, restored.stderr).toBe(0)
  const accounts = 'select name, base_url from training.accounts'
  expect(await queryOnce(target.url, accounts)).toEqual(await queryOnce(url, accounts))
})

it.each([
  ['cannot be written', async (_: string, dir: string) => void (await writeFile(dir, 'not a folder'))],
  [
    'cannot be restored',
    async (url: string) =>
      void (await queryOnce(
        url,
        'alter table training.accounts alter base_url drop not null; update training.accounts set base_url = null',
      )),
  ],
])('if that backup %s, the tables stay unchanged and the error names a command', async (what, spoil) => {
  const { url, dir, env, version } = await openOlder(what)
  await spoil(url, dir)
  const before = await version()
  const refused = await runVerb(['migrate'], { env })
  expect(refused.stderr).toContain('the backup before its migration failed')
  expect(refused.code).toBe(2)
  expect(await version()).toBe(before)
  if (what === 'cannot be restored') return expect(await readdir(dir)).toEqual([])
  expect(refused.stderr).toContain('run: MUSETTE_BACKUP_DIR=off musette migrate')
  const done = await typeVerb('musette migrate', refused.stderr, {
    env: { ...env, MUSETTE_BACKUP_DIR: 'off' },
  })
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('migrated the database') })
})

it('a verb that migrates the embedded Postgres makes a backup first', async () => {
  const dataDir = join(folder.path, 'embedded')
  const log = makeSilentLog()
  const server = await openEmbeddedPostgres({ log }, { dataDir })
  const upTo = await momentOf(OLDER)
  await withMigrationLock({ connectionString: server.url, log }, (client) =>
    applyMigrations(client, { upTo }),
  )
  await queryOnce(server.url, ACCOUNT)
  await server.close()
  const env = { DATABASE_URL: '', MUSETTE_DATA_DIR: dataDir }
  const listed = await runVerb(['accounts'], { env })
  expect(listed, listed.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('default') })
  expect(listed.stderr).toContain('backing up the database before this newer version migrates it')
  expect(await readdir(join(dataDir, 'backups'))).toHaveLength(1)
})

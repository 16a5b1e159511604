import { createReadStream, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openArchive } from '../../../src/backup/read-archive.ts'
import { restoreBackup } from '../../../src/backup/restore-backup.ts'
import { writeEarlierMigrations } from '../../kit/later-migrations.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { distPath, type Finished, runNode } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { contentOf } from './database-state.ts'
import { type NextVersion, openNextVersion } from './next-version.ts'

/** What each release left here: a backup of a database that its tarball made, and what it answered from that. See make-database.ts. */
const made = fileURLToPath(new URL('made-by/', import.meta.url))
const VERSIONS = readdirSync(made).flatMap((name) => /^(.*)\.backup$/.exec(name)?.[1] ?? [])
const SLOW = 240_000
const ACTIVITIES = 'training.activities'
/** While a command reads, the database may be older or newer than its version: then it must say so, with the command. */
const OTHER_VERSION = /made by a newer musette|older than this version of musette; run: musette migrate/
/** What this version finds from more than before, so that it may change: the clock of an activity, by the first position of its FIT file. */
const CLOCK = ['started_at_local', 'timezone', 'timezone_source']

type Run = (args: readonly string[], env: Record<string, string>) => Promise<Finished>

describe.each(VERSIONS)('a database that musette %s made', (version) => {
  let next: NextVersion
  beforeAll(async () => {
    next = await openNextVersion()
  })
  afterAll(() => next.close())

  it(
    'is upgraded without a change of what it holds, while commands read it, and answers the same',
    async () => {
      const { env, url } = await openEmpty()
      await restoreAsItWas(version, url)
      const all = await contentOf(url)
      const tables = all.tables.map((table) => ({
        ...table,
        columns: table.columns.filter(
          (column) => !(table.name === ACTIVITIES && [...CLOCK, 'updated_at'].includes(column)),
        ),
      }))
      const before = await contentOf(url, { ...all, tables })
      const [feed] = await queryOnce(url, 'select max(change_id) as last from training.changes')
      let upgraded = false
      const reading = readMeanwhile(env, () => upgraded)
      const migrated = await next.musette(['migrate'], env)
      upgraded = true
      expect(migrated.code, migrated.stderr).toBe(0)
      for (const { code, stdout, stderr } of await reading)
        if (code === 0) expect(stdout).not.toBe('')
        else expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(OTHER_VERSION) })
      const found = `delete from training.changes where change_id > $1 returning kind, array(select jsonb_object_keys(detail) order by 1) as columns`
      for (const change of await queryOnce(url, found, [feed?.last]))
        expect(change).toEqual({ kind: 'activity.changed', columns: CLOCK })
      expect((await contentOf(url, before)).rows).toEqual(before.rows)
      await expectAnswers(version, next.musette, env)
    },
    SLOW,
  )

  it(
    'is restored from its backup by this version, and answers the same',
    async () => {
      const { env } = await openEmpty()
      const musette: Run = (args, more) => runNode([distPath('main.js'), ...args], { env: more })
      const restored = await musette(['restore', join(made, `${version}.backup`)], env)
      expect(restored.code, restored.stderr).toBe(0)
      await expectAnswers(version, musette, env)
    },
    SLOW,
  )
})

async function openEmpty() {
  const database = await openTestDatabase({ migrated: false })
  const folder = await openTempDir('older')
  onTestFinished(async () => {
    await folder.close()
    await database.close()
  })
  return { url: database.url, env: { DATABASE_URL: database.url, MUSETTE_DATA_DIR: folder.path } }
}

/** Makes the database as that version left it, with the migrations that it had and no later one. */
async function restoreAsItWas(version: string, url: string): Promise<void> {
  const archive = await openArchive(createReadStream(join(made, `${version}.backup`)))
  const folder = await openTempDir('migrations')
  onTestFinished(() => folder.close())
  await writeEarlierMigrations(folder.path, archive.manifest.migrations)
  const signal = new AbortController().signal
  const input = { connectionString: url, archive, signal, compare: true, folder: folder.path }
  await restoreBackup({ log: makeSilentLog() }, input)
}

/** Runs commands of this version that read, until told. */
async function readMeanwhile(env: Record<string, string>, isEnough: () => boolean): Promise<Finished[]> {
  const ended: Finished[] = []
  const lines = [['status'], ['sql', 'select count(*) from training.ride_overview'], ['changes', '--json']]
  for (let round = 0; round === 0 || !isEnough(); round++)
    ended.push(...(await Promise.all(lines.map((args) => runNode([distPath('main.js'), ...args], { env })))))
  return ended
}

const withoutClock = (name: string, value: unknown) => (CLOCK.includes(name) ? undefined : value)

async function expectAnswers(version: string, musette: Run, env: Record<string, string>): Promise<void> {
  const text = await readFile(join(made, `${version}.jsonl`), 'utf8')
  const answers = text
    .trim()
    .split('\n')
    .map((line): { sql: string; rows: unknown } => JSON.parse(line, withoutClock))
  expect(answers.length).toBeGreaterThan(3)
  for (const { sql, rows } of answers) {
    const { stdout, stderr } = await musette(['sql', '--json', sql], env)
    expect({ sql, stderr, rows: JSON.parse(stdout, withoutClock) }).toEqual({ sql, stderr: '', rows })
  }
}

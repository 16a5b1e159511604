import { describe, expect, it } from 'vitest'
import { migrateQueueTables } from '../../../src/core/jobs/backend.ts'
import { contentOf } from '../../flows/upgrade/database-state.ts'
import { openOlderDatabase, readMigrations } from '../../kit/later-migrations.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce, type TestDatabase } from '../../kit/postgres.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { describeDatabase } from '../../surface/describe-database.ts'
import { typeVerb } from '../doctor/rig.ts'

const folder = openForAll(() => openTempDir('migrate-plan'))

const use = async (opening: Promise<TestDatabase>) => (await openForTest(opening)).url

const musette = (url: string, ...args: string[]) =>
  runVerb(args, { env: { DATABASE_URL: url, MUSETTE_DATA_DIR: folder.path } })

/** Opens an older database with some megabytes of FIT files. */
async function useFitFiles(): Promise<string> {
  const url = await use(openOlderDatabase('0015_database_identity'))
  await queryOnce(
    url,
    `with account as (
       insert into training.accounts (name, base_url) values ('default', 'http://127.0.0.1:9') returning account_id
     ), sent as (
       insert into training.uploads (account_id, content_id, file_name, size_bytes, seen_at)
       select account_id, n::text, n || '.fit', 1, now() from account, generate_series(1, 5000) as n
       returning account_id, content_id
     )
     insert into training.fit_files (account_id, content_id, size_bytes, parts, records, fields, read_at)
     select account_id, content_id, 1, 1, 1, jsonb_build_object('note', repeat(md5(content_id), 20)), now() from sent`,
  )
  return url
}

describe('migrate --plan', () => {
  it('shows missing migrations, locked tables with times and the command, and changes nothing', async () => {
    const url = await useFitFiles()
    await queryOnce(url, `update musette.migrations set musette = '0.0.9'`)
    const stateOf = async () => ({ schema: await describeDatabase(url), content: await contentOf(url) })
    const before = await stateOf()
    const { code, stdout, stderr } = await musette(url, 'migrate', '--plan')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await stateOf()).toEqual(before)

    const lines = stdout.split('\n')
    const all = await readMigrations()
    const missing = all.slice(all.indexOf('0015_database_identity') + 1)
    expect(lines[0]).toBe(
      `migrate would upgrade the database from 0015_database_identity to ${all.at(-1)}, all of it or nothing: ${missing.length} migrations`,
    )
    const rows = lines.filter((line) => /^00\d\d_/.test(line)).map((line) => line.split(/ {2,}/))
    expect(rows.map(([name]) => name)).toEqual(missing)
    expect(rows.filter(([, does]) => !/^[a-z].+/.test(does ?? ''))).toEqual([])
    const cells = lines
      .filter((line) => /^(training|musette)\./.test(line))
      .map((line) => line.split(/ {2,}/))
    const [first] = cells
    expect(first).toEqual([
      'training.fit_files',
      expect.stringMatching(/^[\d.]+ MB$/),
      'reads and writes',
      'written anew',
    ])
    // One table of each kind; test/core/store/migration-effects.test.ts covers what each migration takes.
    expect(
      Object.fromEntries(cells.map(([table, , waits, work]) => [table, `${waits}, ${work}`])),
    ).toMatchObject({
      'training.accounts': 'reads and writes, read',
      'training.fit_fields': 'reads and writes, definition only',
      'training.changes': 'reads and writes, definition only',
      'training.workouts': 'reads and writes, definition only',
      'training.training_info': 'reads and writes, definition only',
      'training.power_curves': 'reads and writes, rows changed',
      'training.activity_revisions': 'reads and writes, rows changed',
    })
    expect(stdout).toMatch(
      /^queries on these views wait, too: training\.changes_settled, training\.daily_load, .+ and 12 more$/m,
    )
    expect(stdout).toMatch(/^the locks are held for .+ 20 MB\/s written anew, as on two busy cores/m)
    expect(stdout).toMatch(/^meanwhile a running daemon waits/m)
    expect(stdout).toMatch(/^the way back is a backup made by the version .+, 0\.0\.9: musette backup FILE$/m)
    expect(lines.at(-2)).toBe('nothing is changed yet; run: musette migrate')
  })

  it('has nothing to do for this version, and names the command for an older version', async () => {
    const nothing = { code: 0, stdout: expect.stringMatching(/^nothing to do: .+ needs it\n$/), stderr: '' }
    const url = await use(openOlderDatabase('0012_heartbeat_runs'))
    const { stdout } = await musette(url, 'migrate', '--plan')
    const env = { DATABASE_URL: url, MUSETTE_DATA_DIR: folder.path }
    expect(await typeVerb('musette migrate', stdout, { env })).toMatchObject({ code: 0 })
    expect(await musette(url, 'migrate', '--plan')).toMatchObject(nothing)
  })

  it('says that an empty database would get its tables, and does not create them', async () => {
    const url = await use(openTestDatabase({ migrated: false }))
    const { code, stdout } = await musette(url, 'migrate', '--plan')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^migrate would create the tables in the empty database/)
    expect(stdout).not.toMatch(/waits until|wait, too|before that, it waits/)
    const schemas = `select from pg_namespace where nspname in ('training', 'musette', 'bullmq')`
    expect(await queryOnce(url, schemas)).toEqual([])
    const made = /^created the tables in the empty database: \d+ migrations, now at 00\d\d_\w+\n/
    expect((await musette(url, 'migrate')).stdout).toMatch(made)
    expect((await musette(url, 'migrate')).stdout).toMatch(/^nothing to do: the database is at 00/)
  })

  it.each([
    ['a newer musette', `insert into musette.migrations (hash, created_at) values ('x', 9999999999999)`],
    ['before the first release', `insert into musette.migrations (hash, created_at) values ('x', 5)`],
    ['another program', `alter schema musette rename to elsewhere`],
  ])('refuses a database of %s as migrate does', async (_, change) => {
    const url = await use(openTestDatabase())
    await queryOnce(url, change)
    const [planned, migrated] = [await musette(url, 'migrate', '--plan'), await musette(url, 'migrate')]
    expect(planned).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/^musette: .+\n$/) })
    expect(planned).toEqual(migrated)
  })

  it('says whether the next start changes the tables of the queue', async () => {
    const url = await use(openTestDatabase())
    await migrateQueueTables(url)
    expect((await musette(url, 'migrate', '--plan')).stdout).not.toContain('queue')
    const last =
      'delete from bullmq.migration where version = (select max(version) from bullmq.migration) returning version'
    const [{ version } = {}] = await queryOnce(url, last)
    expect((await musette(url, 'migrate', '--plan')).stdout).toContain(
      `the next musette start migrates the tables of the queue from version ${Number(version) - 1} to ${version}`,
    )
  })
})

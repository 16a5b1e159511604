import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { fitForms } from '../../../src/core/mirror/rebuild-activities.ts'
import { updateRoutes } from '../../../src/core/mirror/routes.ts'
import { openDaemon } from '../../../src/program/daemon/daemon.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { expectMirrored } from '../../core/mirror/truth.ts'
import { eventually } from '../../kit/eventually.ts'
import { readMigrations } from '../../kit/later-migrations.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { openHold, openTestDatabase, queryOnce, type TestDatabase } from '../../kit/postgres.ts'
import { distPath, runNode, startNode } from '../../kit/processes.ts'
import { sample, whole } from '../../kit/sampling.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { type } from '../../program/doctor/rig.ts'
import { describeDatabase } from '../../surface/describe-database.ts'
import { type Content, contentOf } from './database-state.ts'
import { openNextVersion, type Stop } from './next-version.ts'

vi.setConfig({ testTimeout: 480_000 })
/** The statements of both migrations and the journal; the triggers add more. */
const CHANGES = 11
/** Number of random queries at which a migration is stopped, without WHOLE. */
const SOME = 2

const next = openForAll(openNextVersion)

describe('a database written by a daemon of the previous version', () => {
  it('stays unchanged if migrate stops at any query; concurrent migrations run once', async () => {
    const { rig, daemon, env } = await openOldDaemon({ activities: 6, longestActivitySeconds: 300 })
    await untilQuiet(rig)
    const before = await stateOf(rig)
    const queries = await stopAtQueries(env, whole ? ['terminated', 'killed'] : ['killed'], async (text) => {
      expect(await stateOf(rig), text).toEqual(before)
    })
    expect(queries).toBeGreaterThan(CHANGES)
    const [row] = await rig.rows('select path from training.activities limit 1')
    await rig.steer('PATCH', `activities/${row?.path}`, { name: 'Named while migrations failed' })
    await untilQuiet(rig)

    const content = await contentOf(rig.databaseUrl)
    // No migration can begin before all of them are waiting.
    const hold = await openHold(rig.databaseUrl, 'LOCK TABLE training.accounts IN ROW EXCLUSIVE MODE')
    const migrating = Promise.all([1, 2, 3].map(() => next.musette(['migrate'], env)))
    // One has begun; the others wait before they read the list of migrations.
    const waiting = `${MIGRATING} and pid in (select pid from pg_locks
        where relation = 'musette.lock_migration'::regclass and not granted)`
    const othersWait = async () => (await rig.rows(waiting)).length === 2
    await eventually(othersWait, { what: 'the others at the lock of migrations' }).finally(hold.close)
    const all = await migrating
    for (const { code, stderr } of all) expect(code, stderr).toBe(0)
    const done = all.map(({ stdout }) => stdout.trim()).sort()
    const last = (await readMigrations()).at(-1)
    expect(done[0]).toBe(`migrated the database from ${last} to 9999_index_and_view: 2 migrations`)
    expect(done[1]).toMatch(/^nothing to do/)
    await expectUpgraded(rig, content)
    await expect(daemon.failed).resolves.toMatchObject({ code: 'database_newer' })
    for (const verb of ['migrate', 'start', 'status']) {
      const refused = await runVerb([verb], { env })
      expect(refused.stderr).toContain('this database was made by a newer musette; install that version')
      expect(refused.code, verb).toBe(2)
    }
  })

  it('loses nothing if migrated during a backfill, which the new version completes', async () => {
    const { rig, daemon, env } = await openOldDaemon({ activities: 12, longestActivitySeconds: 900 })
    const mirrored = `select from training.activities where detail_state = 'mirrored' limit 1`
    await eventually(async () => (await rig.rows(mirrored)).length > 0)
    const migrated = await next.musette(['migrate'], env)
    expect(migrated.code, migrated.stderr).toBe(0)
    await expect(daemon.failed).resolves.toMatchObject({ code: 'database_newer' })
    await daemon.close()
    // Activities whose rows come from different responses.
    const half = `select path from training.activities a where detail_state = 'mirrored' and
        sample_count is distinct from (select count(*) from training.samples s where s.activity_id = a.activity_id)`
    expect(await rig.rows(half)).toEqual([])
    const rest = await next.musette(['sync', '--json'], env)
    expect(rest.code, rest.stderr).toBe(0)
    await expectMirrored(rig)
  })
})

it('a daemon refuses an older database, or migrates it with MUSETTE_MIGRATE=on-start', async () => {
  const database = await openDatabase()
  const env = { DATABASE_URL: database.url, MUSETTE_HTTP: 'off' }
  const onStart = { ...env, MUSETTE_MIGRATE: 'on-start' }
  for (const refused of [await next.musette(['start'], env), await next.musette(['status'], onStart)]) {
    expect(refused.stderr).toContain('older than this version of musette; run: musette migrate')
    expect(refused.code).toBe(2)
  }
  const daemons = [1, 2].map(() => next.start(['start'], onStart))
  try {
    for (const daemon of daemons) await daemon.waitForLine(/"msg":"started"/, 90_000)
  } finally {
    for (const daemon of daemons) await daemon.kill('SIGTERM')
  }
  expect(await laterVersionsOf(database.url)).toBe(2)
})

it('an empty database stays empty if migrate stops at any query, and the next one completes', async () => {
  const { url } = await openDatabase({ migrated: false })
  const tables = `select relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('training', 'musette') and c.relkind = 'r'`
  const expectEmpty = async (text: string) => expect(await queryOnce(url, tables), text).toEqual([])
  // The first run makes the schema and the migration lock, which stay.
  await stopAt({ DATABASE_URL: url }, { query: 'COMMIT', how: 'terminated' }, expectEmpty)
  expect(await stopAtQueries({ DATABASE_URL: url }, ['terminated'], expectEmpty)).toBeGreaterThan(CHANGES)
  // A killed process may have finished its COMMIT.
  await stopAt({ DATABASE_URL: url }, { query: 'COMMIT', how: 'killed' }, async (text) => {
    if ((await queryOnce(url, tables)).length === 0) return
    expect(await laterVersionsOf(url), text).toBe(2)
  })
  expect(await next.musette(['migrate'], { DATABASE_URL: url })).toMatchObject({ code: 0 })
  expect(await queryOnce(url, 'select rewritten from training.activities')).toEqual([])
})

it('migrate does not wait for a long query of a killed migrate', async () => {
  const slow = 'SELECT pg_sleep(3600)'
  const slowNext = await openForTest(openNextVersion({ '9999_slow': [slow] }))
  const { url } = await openDatabase()
  const stop = { query: slow, how: 'killed' } as const
  expect(await slowNext.musette(['migrate'], { DATABASE_URL: url }, stop)).toMatchObject({
    signal: 'SIGKILL',
  })
  const isOver = async () => (await queryOnce(url, MIGRATING)).length === 0
  expect(await isOver()).toBe(false)
  await eventually(isOver, { everyMs: 500 })
})

const MIGRATING = `select from pg_stat_activity
  where datname = current_database() and application_name = 'musette migrate'`

async function openDatabase(options?: { migrated: boolean }): Promise<TestDatabase> {
  const database = await openForTest(openTestDatabase(options))
  return database
}

async function openOldDaemon(history: { activities: number; longestActivitySeconds: number }) {
  const rig = await openForTest(
    openRig({ ...history, env: { MUSETTE_HTTP: 'off', MUSETTE_POLL_EVERY: '1s' } }),
  )
  const { signal } = new AbortController()
  const roles = ['scheduler', 'worker'] as const
  const daemon = await openForTest(
    openDaemon(rig.app.config, rig.log.log, { roles, signal, watchEveryMs: 100 }),
  )
  const env = {
    DATABASE_URL: rig.databaseUrl,
    MUSETTE_BASE_URL: rig.sandboxUrl,
    MUSETTE_DATA_DIR: rig.dataDir,
  }
  return { rig, daemon, env }
}

async function stateOf({ databaseUrl }: Rig): Promise<unknown> {
  return { schema: await describeDatabase(databaseUrl), ...(await contentOf(databaseUrl)) }
}

/** Waits until the daemon has mirrored everything once and stops writing. */
async function untilQuiet(rig: Rig): Promise<void> {
  await eventually(() => expectMirrored(rig).then(() => true), { everyMs: 500 })
  const runs = `select from training.sync_runs where outcome = 'done' and resource = any
    ('{activities,training_info,workout_of_day,workouts,workout_definitions}') group by resource`
  const isRun = async () => (await rig.rows(runs)).length === 5
  await eventually(isRun, { everyMs: 500, what: 'a run of each resource' })
  // The daemon derives these in its next sweep.
  await updateRoutes(rig.app.mirror)
  await fitForms(rig.app)
  let last = ''
  await eventually(
    async () => {
      const now = JSON.stringify(await contentOf(rig.databaseUrl))
      const same = now === last
      last = now
      return same
    },
    { everyMs: 3_000, what: 'a daemon that writes no more' },
  )
}

type Look = (query: string) => Promise<unknown>

/** Stops `migrate` at a query, and lets `look` inspect the database. Returns the number of the query. */
async function stopAt(env: { DATABASE_URL: string }, stop: Stop, look: Look): Promise<number> {
  const stopped = await next.musette(['migrate'], env, stop)
  const [, number, text = ''] = /^stopped at (\d+): (.*)$/m.exec(stopped.stderr) ?? []
  expect(stopped, text).toMatchObject(stop.how === 'killed' ? { signal: 'SIGKILL' } : { code: 4 })
  // A server briefly continues with the query of a killed client.
  await eventually(async () => (await queryOnce(env.DATABASE_URL, MIGRATING)).length === 0)
  await look(text)
  return Number(number)
}

/**
 * Terminates `migrate` at its COMMIT, and stops it at each earlier query, or without WHOLE at a random sample. Returns the number of
 * queries.
 */
async function stopAtQueries(
  env: { DATABASE_URL: string },
  ways: ReadonlyArray<Stop['how']>,
  look: Look,
): Promise<number> {
  const last = await stopAt(env, { query: 'COMMIT', how: 'terminated' }, look)
  const queries = Array.from({ length: last - 1 }, (_, index) => index + 1)
  for (const how of ways) for (const query of sample(queries, SOME)) await stopAt(env, { query, how }, look)
  return last
}

/** Counts the migrations of the database that this version does not have. */
async function laterVersionsOf(url: string): Promise<number> {
  const [row] = await queryOnce(url, 'select count(*)::int as n from musette.migrations')
  return Number(row?.n) - (await readMigrations()).length
}

/** Expects all old rows, each rewritten once, and everything that the migrations make. */
async function expectUpgraded(rig: Rig, before: Content): Promise<void> {
  expect(await laterVersionsOf(rig.databaseUrl)).toBe(2)
  expect(await contentOf(rig.databaseUrl, before)).toEqual(before)
  const [found] = await rig.rows(
    `select (select count(*)::int from training.activities where rewritten = 1 and work_j is not distinct from
         (select sum(power::numeric) from training.samples s where s.activity_id = activities.activity_id)) as rewritten,
       (select count(mark) = count(*) from training.samples) as marked,
       (select array_agg(name order by name) = (select array_agg(distinct activity_type order by activity_type)
         from training.activities) from training.gears) as gears,
       (select indisvalid from pg_index where indexrelid = 'training.activities_by_work'::regclass) as index,
       (select count(made_by) = count(*) from training.records) as view,
       (select count(*)::int from pg_trigger where not tgisinternal and tgenabled <> 'O') as triggers_off`,
  )
  expect(found).toEqual({
    rewritten: 6,
    marked: true,
    gears: true,
    index: true,
    view: true,
    triggers_off: 0,
  })
}

it('migrate refuses while an older daemon runs the embedded Postgres, with the remedy', async () => {
  const folder = await openForTest(openTempDir('beside'))
  const env = { MUSETTE_DATA_DIR: folder.path, MUSETTE_BASE_URL: 'http://127.0.0.1:9', MUSETTE_HTTP: 'off' }
  expect(await runNode([distPath('main.js'), 'migrate'], { env })).toMatchObject({ code: 0 })
  const daemon = startNode([distPath('main.js'), 'start'], { env })
  onTestFinished(() => daemon.kill('SIGKILL').then(() => undefined))
  await daemon.waitForLine(/"msg":"started"/)
  const refused = await next.musette(['migrate'], env)
  expect(refused).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(
      `musette start \\(process ${daemon.pid} on .*\\) since .* runs the embedded Postgres`,
    ),
  })
  const read = await next.musette(['sql', '--csv', 'select count(*) from activities'], env)
  expect(read).toMatchObject({ code: 0, stdout: 'count\n0\n', stderr: expect.stringContaining('older') })
  await type('kill ${', refused.stderr)
  expect(await daemon.finished).toMatchObject({ code: 0 })
  expect(await next.musette(['migrate'], env)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('2 migrations'),
  })
})

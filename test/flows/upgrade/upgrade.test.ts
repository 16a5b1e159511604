import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { openDaemon } from '../../../src/program/daemon/daemon.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { expectMirrored } from '../../core/mirror/truth.ts'
import { eventually } from '../../kit/eventually.ts'
import { readMigrations } from '../../kit/later-migrations.ts'
import { openHold, openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { sample } from '../../kit/sampling.ts'
import { runVerb } from '../../kit/verbs.ts'
import { type Content, contentOf, schemaOf } from './database-state.ts'
import { type NextVersion, openNextVersion, type Stop } from './next-version.ts'

const SLOW = 480_000
const ACTIVITIES = 12
/** The statements of both migrations, with those of the journal; more serve the triggers. */
const CHANGES = 11
/** At so many queries a migration is stopped where not every case is tried. */
const SOME = 6

type Daemon = Awaited<ReturnType<typeof openDaemon>>

describe('a database that a daemon of the version before writes', () => {
  let next: NextVersion
  let rig: Rig
  let daemon: Daemon
  let env: { DATABASE_URL: string } & Record<string, string>
  beforeAll(async () => {
    next = await openNextVersion()
  })
  afterAll(() => next.close())
  beforeEach(async () => {
    const settings = { MUSETTE_HTTP: 'off', MUSETTE_POLL_EVERY: '1s' }
    rig = await openRig({ activities: ACTIVITIES, longestActivitySeconds: 900, env: settings })
    env = {
      DATABASE_URL: rig.databaseUrl,
      MUSETTE_BASE_URL: rig.sandboxUrl,
      MUSETTE_DATA_DIR: rig.dataDir,
    }
    const { signal } = new AbortController()
    const roles = ['scheduler', 'worker'] as const
    daemon = await openDaemon(rig.app.config, rig.log.log, { roles, signal, watchEveryMs: 100 })
  })
  afterEach(async () => {
    await daemon.close()
    await rig.close()
  })

  it.each(['terminated', 'killed'] as const)(
    'is unchanged when migrate is %s at any query, and the next migrate completes it',
    async (how) => {
      await untilQuiet(rig)
      const before = await stateOf(rig)
      const queries = await stopAtQueries(next, env, how, async (text) => {
        // A COMMIT that was sent may have been done.
        if (text === 'COMMIT' && (await laterVersionsOf(rig)) > 0) return
        expect(await stateOf(rig), text).toEqual(before)
      })
      expect(queries).toBeGreaterThan(CHANGES)
      if ((await laterVersionsOf(rig)) === 0) await expectStillMirrors(rig)

      const content = await contentOf(rig.databaseUrl)
      expect(await next.musette(['migrate'], env)).toMatchObject({ code: 0 })
      await expectUpgraded(rig, content)
      await expect(daemon.failed).resolves.toMatchObject({ code: 'database_newer' })
    },
    SLOW,
  )

  it(
    'is migrated once by several at a time, and then refused by the last version',
    async () => {
      await untilQuiet(rig)
      const before = await contentOf(rig.databaseUrl)
      // None of them can begin before all of them want to.
      const hold = await openHold(rig.databaseUrl, 'LOCK TABLE training.accounts IN ROW EXCLUSIVE MODE')
      const migrating = Promise.all([1, 2, 3, 4].map(() => next.musette(['migrate'], env)))
      // One has begun; the others wait before they read which migrations there are.
      const waiting = `${MIGRATING} and pid in (select pid from pg_locks
        where relation = 'musette.lock_migration'::regclass and not granted)`
      const othersWait = async () => (await rig.rows(waiting)).length === 3
      await eventually(othersWait, { what: 'the others at the lock of migrations' }).finally(hold.close)
      const all = await migrating
      for (const { code, stderr } of all) expect(code, stderr).toBe(0)
      const done = all.map(({ stdout }) => stdout.trim()).sort()
      const last = (await readMigrations()).at(-1)
      expect(done[0]).toBe(`migrated the database from ${last} to 9999_index_and_view: 2 migrations`)
      expect(done[1]).toMatch(/^nothing to do/)
      await expectUpgraded(rig, before)
      await expect(daemon.failed).resolves.toMatchObject({ code: 'database_newer' })
      for (const verb of ['migrate', 'start', 'sync', 'status']) {
        const refused = await runVerb([verb], { env })
        expect(refused.stderr).toContain('this database was made by a newer musette; install that version')
        expect(refused.code, verb).toBe(2)
      }
    },
    SLOW,
  )

  it(
    'loses nothing by a migration during a backfill, which the new version completes',
    async () => {
      const mirrored = async () => {
        const [row] = await rig.rows(
          `select count(*)::int as n from training.activities where detail_state = 'mirrored'`,
        )
        return Number(row?.n)
      }
      await eventually(async () => (await mirrored()) > 0)
      const migrated = await next.musette(['migrate'], env)
      expect(migrated.code, migrated.stderr).toBe(0)
      await expect(daemon.failed).resolves.toMatchObject({ code: 'database_newer' })
      await daemon.close()
      expect(await rig.rows(HALF)).toEqual([])
      const rest = await next.musette(['sync', '--json'], env)
      expect(rest.code, rest.stderr).toBe(0)
      await expectMirrored(rig)
    },
    SLOW,
  )
})

it(
  'a daemon refuses an older database with the command to type, and migrates it with MUSETTE_MIGRATE=on-start',
  async () => {
    const next = await openNextVersion()
    const database = await openTestDatabase()
    onTestFinished(async () => {
      await next.close()
      await database.close()
    })
    const env = { DATABASE_URL: database.url, MUSETTE_HTTP: 'off' }
    for (const verb of ['start', 'status']) {
      const refused = await next.musette([verb], env)
      expect(refused.stderr).toContain('older than this version of musette; run: musette migrate')
      expect(refused.code, verb).toBe(2)
    }
    const asked = await next.musette(['status'], { ...env, MUSETTE_MIGRATE: 'on-start' })
    expect(asked.code).toBe(2)
    const migrations = async () => {
      const [row] = await queryOnce(database.url, 'select count(*)::int as n from musette.migrations')
      return Number(row?.n)
    }
    const before = await migrations()
    const daemons = [1, 2].map(() => next.start(['start'], { ...env, MUSETTE_MIGRATE: 'on-start' }))
    try {
      for (const daemon of daemons) await daemon.waitForLine(/"msg":"started"/, 90_000)
    } finally {
      for (const daemon of daemons) await daemon.kill('SIGTERM')
    }
    expect(await migrations()).toBe(before + 2)
    const again = await next.musette(['migrate'], env)
    expect(again.stdout).toContain('nothing to do: the database is at 9999_index_and_view')
  },
  SLOW,
)

it(
  'an empty database stays empty when migrate is terminated at any query, and the next migrate makes all tables',
  async () => {
    const next = await openNextVersion()
    const database = await openTestDatabase({ migrated: false })
    onTestFinished(async () => {
      await next.close()
      await database.close()
    })
    const env = { DATABASE_URL: database.url }
    const queries = await stopAtQueries(next, env, 'terminated', async (text) => {
      const tables = `select relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname in ('training', 'musette') and c.relkind = 'r'`
      expect(await queryOnce(database.url, tables), text).toEqual([])
    })
    expect(queries).toBeGreaterThan(CHANGES)
    expect(await next.musette(['migrate'], env)).toMatchObject({ code: 0 })
    expect(await queryOnce(database.url, 'select rewritten from training.activities')).toEqual([])
  },
  SLOW,
)

it(
  'the next migrate does not wait for a long query of a killed one',
  async () => {
    const slow = 'SELECT pg_sleep(3600)'
    const next = await openNextVersion({ '9999_slow': [slow] })
    const database = await openTestDatabase()
    onTestFinished(async () => {
      await next.close()
      await database.close()
    })
    const killed = await next.musette(
      ['migrate'],
      { DATABASE_URL: database.url },
      { query: slow, how: 'killed' },
    )
    expect(killed).toMatchObject({ signal: 'SIGKILL' })
    const isOver = async () => (await queryOnce(database.url, MIGRATING)).length === 0
    expect(await isOver()).toBe(false)
    await eventually(isOver, { everyMs: 500 })
  },
  SLOW,
)

const MIGRATING = `select from pg_stat_activity
  where datname = current_database() and application_name = 'musette migrate'`

/** Activities whose rows are not those of one answer. */
const HALF = `select path from training.activities a where detail_state = 'mirrored' and
  sample_count is distinct from (select count(*) from training.samples s where s.activity_id = a.activity_id)`

async function stateOf({ databaseUrl }: Rig): Promise<unknown> {
  return { schema: await schemaOf(databaseUrl), ...(await contentOf(databaseUrl)) }
}

/** Waits until the daemon has mirrored everything once and writes no more. */
async function untilQuiet(rig: Rig): Promise<void> {
  await eventually(() => expectMirrored(rig).then(() => true), { everyMs: 500 })
  await eventually(
    async () => {
      const rows = await rig.rows(`select distinct resource from training.sync_runs where outcome = 'done'`)
      const done = rows.map(({ resource }) => resource)
      return ['activities', 'training_info', 'workout_of_day', 'workouts', 'workout_definitions'].every(
        (resource) => done.includes(resource),
      )
    },
    { everyMs: 500, what: 'a run of each resource' },
  )
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

/**
 * Stops `migrate` at its COMMIT and at its queries before that, or at some of them by chance where not every case is tried; `look`
 * sees the database after each. Returns how many queries there are.
 */
async function stopAtQueries(
  next: NextVersion,
  env: { DATABASE_URL: string },
  how: 'terminated' | 'killed',
  look: (query: string) => Promise<void>,
): Promise<number> {
  const stopAt = async (query: Stop['query'], by: Stop['how']) => {
    const stopped = await next.musette(['migrate'], env, { query, how: by })
    const [, number, text = ''] = /^stopped at (\d+): (.*)$/m.exec(stopped.stderr) ?? []
    expect(stopped, text).toMatchObject(by === 'killed' ? { signal: 'SIGKILL' } : { code: 4 })
    // A server goes on for a moment with the query of a client that was killed.
    await eventually(async () => (await queryOnce(env.DATABASE_URL, MIGRATING)).length === 0)
    await look(text)
    return Number(number)
  }
  // In an empty database the first one makes the schema and the lock of migrations, which stay.
  await stopAt('COMMIT', 'terminated')
  const last = await stopAt('COMMIT', 'terminated')
  const queries = Array.from({ length: last - 1 }, (_, index) => index + 1)
  for (const query of sample(queries, SOME)) await stopAt(query, how)
  // The COMMIT of a killed one may be done, so it comes at the end.
  if (how === 'killed') await stopAt('COMMIT', how)
  return last
}

/** Counts the migrations of the database that this version does not have. */
async function laterVersionsOf(rig: Rig): Promise<number> {
  const [row] = await rig.rows('select count(*)::int as n from musette.migrations')
  return Number(row?.n) - (await readMigrations()).length
}

async function expectStillMirrors(rig: Rig): Promise<void> {
  const [row] = await rig.rows('select path from training.activities limit 1')
  await rig.steer('PATCH', `activities/${row?.path}`, { name: 'Named while migrations failed' })
  await untilQuiet(rig)
}

/** Expects every row of before, each rewritten once, and everything that the migrations make. */
async function expectUpgraded(rig: Rig, before: Content): Promise<void> {
  expect(await laterVersionsOf(rig)).toBe(2)
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
    rewritten: ACTIVITIES,
    marked: true,
    gears: true,
    index: true,
    view: true,
    triggers_off: 0,
  })
}

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { differences, PLAIN_VIEWS, plainViewStatements } from './plain-views.ts'
import { openScene, type Scene } from './scene.ts'

const HOUR_MS = 3_600_000
const DURATIONS_S = [1, 5, 77, 1_200]

// Few values, so that much ties: watts, starts, heart rates, moments.
const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 4 })
// Their sums are exact, in whatever order they are added.
const score = some(fc.constantFrom(0, 0.25, 40))
const ride = fc.record({
  account: fc.constantFrom(0, 1, 2),
  hoursAgo: some(fc.oneof(fc.constantFrom(0, 3, 3, 27, 2_161), fc.integer({ min: 0, max: 40_000 }))),
  zone: fc.constantFrom('UTC', 'Asia/Tokyo', 'America/Los_Angeles'),
  absent: fc.nat({ max: 4 }).map((chance) => chance === 0),
  state: fc.constantFrom('mirrored', 'mirrored', 'wanted', 'awaiting_samples', 'failed'),
  error: some(fc.constantFrom('not JSON', 'no answer')),
  scores: fc.record({ xss: score, xlss: score, xhss: score, xpss: score, elapsed_s: score }),
  watts: fc.array(some(fc.constantFrom(200, 200, 210)), { minLength: DURATIONS_S.length, maxLength: 4 }),
  heart: some(fc.record({ peak: some(fc.integer({ min: 1, max: 9 })), beats: some(fc.nat({ max: 9 })) })),
  revisions: fc.array(
    fc.record({ minutes: fc.integer({ min: 0, max: 200 }), old: some(fc.constantFrom(50, 51)) }),
  ),
})
const upload = fc.record({
  account: fc.constantFrom(0, 1, 2),
  state: fc.constantFrom('seen', 'mirrored', 'unconfirmed', 'refused'),
  reason: some(fc.constantFrom('one', 'two')),
})
const run = fc.record({
  account: fc.constantFrom(0, 1, 2),
  resource: fc.constantFrom('activities', 'workouts'),
  kind: fc.constantFrom('poll', 'backfill', 'reconcile', 'fetch'),
  outcome: fc.constantFrom('running', 'done', 'partial', 'failed'),
})
type Made<T> = T extends fc.Arbitrary<infer Value> ? Value : never

it('the views say of any history what plain restatements of them say, also where watts, starts and heart rates tie', async () => {
  const scene = await openScene()
  await scene.store.execute(plainViewStatements())
  const columns = await columnsOf(scene)
  const accounts = [await scene.account('one'), await scene.account('two'), await scene.account('three')]
  const history = fc.record({
    rides: fc.array(ride, { maxLength: 30 }),
    uploads: fc.array(upload, { maxLength: 4 }),
    runs: fc.array(run, { maxLength: 12 }),
  })
  await fc.assert(
    fc.asyncProperty(history, async ({ rides, uploads, runs }) => {
      for (const each of rides) await record(scene, accounts[each.account] ?? 0, each)
      await scene.query(
        `insert into training.uploads (account_id, content_id, file_name, size_bytes, state, reason, seen_at)
         select account_id, n, 'f', 1, state, reason, now() - n * interval '1 hour'
         from jsonb_to_recordset($1) as made (account_id int, n int, state text, reason text)`,
        [
          JSON.stringify(
            uploads.map(({ account, ...rest }, n) => ({ account_id: accounts[account], n, ...rest })),
          ),
        ],
      )
      await scene.query(
        `insert into training.sync_runs (account_id, resource, kind, outcome, started_at, finished_at, listed, failed, error)
         select account_id, resource, kind, outcome, now() + n * interval '1 minute', now() + n * interval '2 minutes', n, n, outcome
         from jsonb_to_recordset($1) as made (account_id int, n int, resource text, kind text, outcome text)`,
        [
          JSON.stringify(
            runs.map(({ account, ...rest }, n) => ({ account_id: accounts[account], n, ...rest })),
          ),
        ],
      )
      for (const view of Object.keys(PLAIN_VIEWS)) {
        expect(await scene.query(differences(view, columns.get(view) ?? [])), view).toEqual([])
      }
      await scene.query('truncate training.activities, training.uploads, training.sync_runs cascade')
    }),
    { numRuns: 25 },
  )
})

/** Writes an activity with what was made of it, and moves or hides it only then, as the service may. */
async function record(scene: Scene, accountId: number, made: Made<typeof ride>): Promise<void> {
  const start = made.hoursAgo === null ? null : new Date(Date.now() - made.hoursAgo * HOUR_MS).toISOString()
  const activityId = await scene.ride(accountId, '2020-05-01T12:00:00Z', { zone: made.zone, ...made.scores })
  await scene.query(
    `insert into training.power_curves (activity_id, duration_s, watts, account_id, season, started_at_local)
     select activity_id, duration_s, watts, account_id, date_part('year', started_at_local), started_at_local
     from training.activities, unnest($2::int[], $3::real[]) as curve (duration_s, watts)
     where activity_id = $1 and watts is not null`,
    [activityId, DURATIONS_S, made.watts],
  )
  if (made.heart) {
    const beats =
      made.heart.beats === null ? null : Array.from({ length: made.heart.beats }, (_, n) => 60 - n)
    await scene.query(
      `insert into training.activity_intensity
         (activity_id, ftp, power_z1_s, near_mpa_s, hr_peak, hr_at_least_s, account_id, day, month)
       select activity_id, 250, 9, 3, $2, $3, account_id, started_at_local::date, date_trunc('month', started_at_local)
       from training.activities where activity_id = $1`,
      [activityId, made.heart.peak, beats],
    )
  }
  for (const { minutes, old } of made.revisions) {
    await scene.query(
      `insert into training.activity_revisions (activity_id, observed_at, changes)
       values ($1, '2024-06-01T00:00Z'::timestamptz + $2 * interval '1 minute', $3)`,
      [activityId, minutes, JSON.stringify({ xss: [old, 60], sig_ftp: [250, old] })],
    )
  }
  await scene.query(
    `update training.activities set started_at = $2, started_at_local = $2::timestamptz at time zone $3, absent_since = $4,
       detail_state = $5, fetch_error = $6 where activity_id = $1`,
    [activityId, start, made.zone, made.absent ? new Date() : null, made.state, made.error],
  )
}

async function columnsOf(scene: Scene): Promise<Map<string, string[]>> {
  const rows = await scene.query(
    `select c.relname, array_agg(a.attname::text order by a.attnum) as names
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where c.relnamespace = 'plain'::regnamespace and c.relkind = 'v' group by 1`,
  )
  return new Map(rows.map(({ relname, names }) => [String(relname), names as string[]]))
}

import { expect, test } from 'vitest'
import { findAccountStatuses } from '../../../src/core/store/account-status.ts'
import {
  findActivityCalendar,
  findActivityPage,
} from '../../../src/features/dashboard/pages/activities/queries.ts'
import { findFitness } from '../../../src/features/dashboard/pages/fitness/queries.ts'
import { findRunsOfDay, findTodayOf } from '../../../src/features/dashboard/pages/today/account-day.ts'
import {
  describeProgress,
  describeRecommended,
  describeRuns,
} from '../../../src/features/dashboard/pages/today/sentences.ts'
import { describeMissing, formatDay } from '../../../src/features/dashboard/shared/format.ts'
import { makeAccount, openTestStore } from '../../core/store/open.ts'

test('days with a good poll are counted back from today, or yesterday before the first poll of today', async () => {
  const { store } = await openTestStore()
  const accountId = await makeAccount(store)
  await store.execute(`UPDATE training.accounts SET timezone = 'Pacific/Auckland'`)
  const poll = (daysAgo: number, values = `'activities', 'poll', 'done'`) =>
    store.execute(`INSERT INTO training.sync_runs (account_id, started_at, resource, kind, outcome)
      SELECT account_id, (day - ${daysAgo} + time '00:00:01') AT TIME ZONE timezone, ${values} FROM training.today`)
  const days = async () => (await store.read((tx) => findTodayOf(tx, accountId)))?.days_mirrored
  expect(await days()).toBe(0)
  await poll(2)
  expect(await days()).toBe(0)
  await poll(1)
  expect(await days()).toBe(2)
  await poll(0, `'activities', 'poll', 'failed'`)
  await poll(0, `'training_info', 'poll', 'done'`)
  expect(await days()).toBe(2)
  await poll(0, `'activities', 'backfill', 'partial'`)
  expect(await days()).toBe(3)
  for (let ago = 4; ago < 95; ago++) await poll(ago)
  expect(await days()).toBe(3)
  await poll(3)
  expect(await days()).toBe(90)
})

test('a page has the days of the rider, where UTC has others', async () => {
  const { store } = await openTestStore()
  const accountId = await makeAccount(store)
  for (const [zone, instant, day] of [
    ['Pacific/Auckland', '2026-03-01T12:30Z', '2 Mar 2026'],
    ['Asia/Kathmandu', '2026-03-01T18:20Z', '2 Mar 2026'],
    ['America/Los_Angeles', '2026-03-02T02:00Z', '1 Mar 2026'],
    ['Europe/Berlin', '2026-02-28T23:30Z', '1 Mar 2026'],
  ] as const) {
    await store.execute(`
      DELETE FROM training.activities; DELETE FROM training.training_info; UPDATE training.accounts SET timezone = '${zone}';
      INSERT INTO training.activities (account_id, path, detail_state, listed_at, wanted_at, started_at, timezone, started_at_local, sig_ftp,
        tl_ftp, tl_hie, tl_pp, form)
      VALUES (${accountId}, 'a', 'mirrored', now(), now(), '${instant}', '${zone}', timestamptz '${instant}' at time zone '${zone}', 250, 1, 1, 1, 5);
      INSERT INTO training.training_info (account_id, observed_at, last_seen_at, ftp)
      VALUES (${accountId}, timestamptz '${instant}' + interval '1 minute', '${instant}', 251)`)
    const fitness = await findFitness({ store }, {})
    const [status] = await store.read(findAccountStatuses)
    const { calendar } = await findActivityCalendar({ store }, {})
    const daysOf = (at: readonly number[] = []) => at.map((day) => formatDay(day))
    expect({
      zone,
      signature: daysOf(fitness?.signature.at),
      load: daysOf(fitness?.load.at),
      newest: formatDay(status?.newest_activity_day ?? ''),
      listed: calendar.days.map((listed) => formatDay(listed.day)),
    }).toEqual({ zone, signature: [day], load: [day], newest: day, listed: [day] })
    // The last that was told on the day.
    expect(fitness?.signature.ftp).toEqual([251])
  }
})

test('the runs of a day count activities fetched by commands and by the daemon', async () => {
  const { store } = await openTestStore()
  const accountId = await makeAccount(store)
  const told = async () => describeRuns(await store.read(findRunsOfDay))
  expect(await told()).toBe('In 24 hours 0 runs: no activity was new or changed.')
  await store.execute(`INSERT INTO training.sync_runs (account_id, started_at, resource, kind, outcome, listed, changed)
    SELECT ${accountId}, now(), 'activities', 'poll', 'done', 120, 120 FROM generate_series(1, 82)`)
  expect(await told()).toBe('In 24 hours 82 runs: no activity was new or changed.')
  await store.execute(`INSERT INTO training.activities (account_id, path, detail_state, listed_at, wanted_at)
    SELECT ${accountId}, 'p' || n, 'wanted', now(), now() FROM generate_series(1, 120) n`)
  expect(await told()).toBe('In 24 hours 82 runs: 120 activities came.')
  await store.execute(`UPDATE training.changes SET at = at - interval '25 hours'`)
  await store.execute(`UPDATE training.activities SET name = 'other' WHERE path IN ('p1', 'p2')`)
  await store.execute(
    `UPDATE training.sync_runs SET outcome = 'failed' WHERE run_id = (SELECT min(run_id) FROM training.sync_runs)`,
  )
  expect(await told()).toBe('In 24 hours 82 runs: 2 changed, 1 run failed.')
})

test('during a backfill sums say how many activities they have, and no zone counts as missing before the first sample', async () => {
  const { store } = await openTestStore()
  const accountId = await makeAccount(store)
  await store.execute(`INSERT INTO training.activities (account_id, path, detail_state, listed_at, wanted_at, started_at, started_at_local, timezone,
      timezone_source, fetched_at)
    SELECT ${accountId}, 'p' || n, CASE WHEN n = 1 THEN 'mirrored' ELSE 'wanted' END, now(), now(), '2026-01-01', '2026-01-01', 'UTC', 'unknown',
      CASE WHEN n = 1 THEN now() END FROM generate_series(1, 100) n`)
  const [status] = await store.read(findAccountStatuses)
  expect(status?.without_timezone).toBe(1)
  const order = { sort: 'started', descending: true } as const
  const page = await store.read((tx) => findActivityPage(tx, { filter: {}, order, offset: 0, limit: 10 }))
  expect(describeMissing(page.total, page.to_fetch)).toBe('numbers of 1; 99 are still to be fetched')
  expect((await findFitness({ store }, {}))?.count).toEqual({ all: 100, to_fetch: 99 })
})

test.each([
  [5_000, 0, null, null, '0 of 5,000 are here; the first ones are on their way'],
  [4_000, 1_000, null, null, '1,000 of 5,000 are here; none was fetched in the last 5 minutes'],
  [4_000, 1_000, 240, 1_000, '1,000 of 5,000 are here; 240 a minute, 16 min 40 s to go'],
])(
  'with %i wanted and %i mirrored, %s a minute and %s s to go: %s',
  (wanted, mirrored, rate, seconds, sentence) => {
    const counts = { activities: 5_000, wanted, mirrored, seconds_to_go: seconds, fetched_per_minute: rate }
    expect(describeProgress(counts as Parameters<typeof describeProgress>[0])).toBe(sentence)
  },
)

test.each([
  [[null, null, null, 77, 77, 77, 77], 'XSS; 308 XSS recommended for 4 days, on which 372 were done'],
  [[null, null, null, null, null, null, 77], 'XSS; 77 XSS recommended for one day, on which 93 were done'],
  [[44, 44, 44, 44, 44, 44, 44], 'of 308 XSS recommended'],
  [[null, null], 'XSS; the service recommends no load yet'],
])('a week with these recommendations %j: %s', (recommended, sentence) => {
  const sums = { day: '2026-01-05', activities: 1, elapsed_s: 1, distance_km: 1, xss: 93 }
  expect(describeRecommended(recommended.map((recommended_xss) => ({ ...sums, recommended_xss })))).toBe(
    sentence,
  )
})

import { expect, test } from 'vitest'
import { findAccountStatuses } from '../../../src/core/store/account-status.ts'
import {
  findActivityCalendar,
  findActivityPage,
} from '../../../src/features/dashboard/pages/activities/queries.ts'
import { findFitness } from '../../../src/features/dashboard/pages/fitness/queries.ts'
import { findRunsOfDay, findTodayOf } from '../../../src/features/dashboard/pages/today/account-day.ts'
import { describeRecommended, describeRuns } from '../../../src/features/dashboard/pages/today/sentences.ts'
import { describeMissing, formatDay } from '../../../src/features/dashboard/shared/format.ts'
import { makeAccount, openTestStore } from '../../core/store/open.ts'

test('days with a good poll are counted back from the day of the last poll', async () => {
  const { store } = await openTestStore()
  const accountId = await makeAccount(store)
  await store.execute(`UPDATE training.accounts SET timezone = 'Pacific/Auckland'`)
  for (const [daysAgo, resource, kind, outcome, mirrored] of [
    ['2', 'activities', 'poll', 'done', 0],
    ['1', 'activities', 'poll', 'done', 2],
    ['0', 'activities', 'poll', 'failed', 2],
    ['0', 'training_info', 'poll', 'done', 2],
    ['0', 'activities', 'backfill', 'partial', 3],
    ['generate_series(4, 94)', 'activities', 'poll', 'done', 3],
    ['3', 'activities', 'poll', 'done', 90],
  ] as const) {
    await store.execute(`INSERT INTO training.sync_runs (account_id, started_at, resource, kind, outcome)
      SELECT account_id, (day - ago + time '00:00:01') AT TIME ZONE timezone, '${resource}', '${kind}', '${outcome}'
      FROM (SELECT *, ${daysAgo} AS ago FROM training.today) today`)
    expect((await store.read((tx) => findTodayOf(tx, accountId)))?.days_mirrored, daysAgo).toBe(mirrored)
  }
})

test('a page uses the days of the rider, even if UTC has others', async () => {
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
    const listed = calendar.days.map((each) => each.day)
    const newest = status?.newest_activity_day ?? ''
    for (const days of [fitness?.signature.at ?? [], fitness?.load.columns.at ?? [], [newest], listed])
      expect(
        [...days].map((each) => formatDay(each)),
        zone,
      ).toEqual([day])
    // The last value that the service reported on the day.
    expect(fitness?.signature.ftp).toEqual([251])
  }
})

test('the runs of a day count new activities from commands and from the daemon', async () => {
  const { store } = await openTestStore()
  const accountId = await makeAccount(store)
  const told = async () => describeRuns(await store.read(findRunsOfDay))
  expect(await told()).toBe('0 runs in the last 24 hours: no new or changed activities.')
  for (const [change, sentence] of [
    [
      `INSERT INTO training.sync_runs (account_id, started_at, resource, kind, outcome, listed, changed)
         SELECT ${accountId}, now(), 'activities', 'poll', 'done', 120, 120 FROM generate_series(1, 82)`,
      'no new or changed activities.',
    ],
    [
      `INSERT INTO training.activities (account_id, path, detail_state, listed_at, wanted_at)
         SELECT ${accountId}, 'p' || n, 'wanted', now(), now() FROM generate_series(1, 120) n`,
      '120 new activities.',
    ],
    [
      `UPDATE training.changes SET at = at - interval '25 hours';
       UPDATE training.activities SET name = 'other' WHERE path IN ('p1', 'p2');
       UPDATE training.sync_runs SET outcome = 'failed' WHERE run_id = (SELECT min(run_id) FROM training.sync_runs)`,
      '2 changed, 1 run failed.',
    ],
  ] as const) {
    await store.execute(change)
    expect(await told()).toBe(`82 runs in the last 24 hours: ${sentence}`)
  }
})

test('during a backfill, sums name the activities they cover, and no zone is missing', async () => {
  const { store } = await openTestStore()
  await makeAccount(store)
  await store.execute(`INSERT INTO training.activities (account_id, path, detail_state, listed_at, wanted_at, started_at, started_at_local,
      timezone, timezone_source, fetched_at)
    SELECT account_id, 'p' || n, CASE WHEN n = 1 THEN 'mirrored' ELSE 'wanted' END, now(), now(), '2026-01-01', '2026-01-01', 'UTC', 'unknown',
      CASE WHEN n = 1 THEN now() END FROM training.accounts, generate_series(1, 100) n`)
  const [status] = await store.read(findAccountStatuses)
  expect(status?.without_timezone).toBe(1)
  const order = { sort: 'started', descending: true } as const
  const page = await store.read((tx) => findActivityPage(tx, { filter: {}, order, offset: 0, limit: 10 }))
  expect(describeMissing(page.total, page.to_fetch)).toBe('based on 1 of 100 activities; 99 not fetched yet')
  expect((await findFitness({ store }, {}))?.count).toEqual({ all: 100, to_fetch: 99 })
})

test.each([
  [[null, null, null, 77, 77, 77, 77], 'XSS; 372 of the 308 XSS recommended for 4 days'],
  [[null, null, null, null, null, null, 77], 'XSS; 93 of the 77 XSS recommended for one day'],
  [[44, 44, 44, 44, 44, 44, 44], 'of 308 XSS recommended'],
  [[null, null], 'XSS; the service recommends no load yet'],
])('a week with the recommendations %j is described as: %s', (recommended, sentence) => {
  const sums = { day: '2026-01-05', activities: 1, elapsed_s: 1, distance_km: 1, xss: 93 }
  const days = recommended.map((recommended_xss) => ({ ...sums, recommended_xss }))
  expect(describeRecommended(days)).toBe(sentence)
})

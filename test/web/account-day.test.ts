import { expect, test } from 'vitest'
import { findAccountStatuses } from '../../src/store/account-status.ts'
import { findActivityCalendar } from '../../src/web/pages/activities/queries.ts'
import { findFitness } from '../../src/web/pages/fitness/queries.ts'
import { findTodayOf } from '../../src/web/pages/today/account-day.ts'
import { formatDay } from '../../src/web/shared/format.ts'
import { makeAccount, openTestStore } from '../store/open.ts'

test('days with a good poll are counted back from today, or from yesterday before the first poll of a day', async () => {
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

test('every day that a page gets is the one of the rider, in a zone where UTC has another', async () => {
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
    const [signature, load] = [fitness?.signature.at.map(formatDay), fitness?.load.at.map(formatDay)]
    expect({
      zone,
      signature,
      load,
      newest: formatDay(status?.newest_activity_day ?? ''),
      listed: calendar.days.map(formatDay),
    }).toEqual({ zone, signature: [day], load: [day], newest: day, listed: [day] })
    // The last that was told on the day.
    expect(fitness?.signature.ftp).toEqual([251])
  }
})

import { expect, it, onTestFinished } from 'vitest'
import { recordRunFinished, recordRunStarted } from '../../../src/core/store/runs.ts'
import { openStore, type Store } from '../../../src/core/store/store.ts'
import { coreGauges } from '../../../src/features/metrics/core-gauges.ts'
import { findEndedRuns, findRunsMark } from '../../../src/features/metrics/metrics.ts'
import { makeFacts } from '../../../src/program/frame/findings/facts.ts'
import { makeAccount, openTestStore, quiet } from '../../core/store/open.ts'
import { readConfig } from '../../kit/config.ts'

const begin = (store: Store) =>
  store.transaction((tx) => recordRunStarted(tx, { accountId: null, resource: 'activities', kind: 'poll' }))
const finish = (store: Store, runId: number) =>
  store.transaction((tx) => recordRunFinished(tx, runId, { outcome: 'done' }))

it('runs that ended since a mark are found once, regardless of the order of commits', async () => {
  const { store, url } = await openTestStore()
  const other = openStore({ log: quiet }, { connectionString: url })
  onTestFinished(() => other.close())
  await finish(store, await begin(store))
  const start = await store.read(findRunsMark)
  const [first, second] = [await begin(store), await begin(store)]
  await finish(store, second)
  const one = await store.read((tx) => findEndedRuns(tx, start))
  expect(one.ended).toMatchObject([{ resource: 'activities', kind: 'poll', outcome: 'done' }])
  await finish(store, first)
  const two = await store.read((tx) => findEndedRuns(tx, one.mark))
  expect(two.ended).toHaveLength(1)
  expect(await store.read((tx) => findEndedRuns(tx, two.mark))).toEqual({ ended: [], mark: two.mark })

  const seen = await other.transaction(async (tx) => {
    const slow = await recordRunStarted(tx, { accountId: null, resource: 'slow', kind: 'poll' })
    await recordRunFinished(tx, slow, { outcome: 'done' })
    await finish(store, await begin(store))
    return store.read((reading) => findEndedRuns(reading, two.mark))
  })
  expect(seen.ended.map(({ resource }) => resource)).toEqual(['activities'])
  const after = await store.read((tx) => findEndedRuns(tx, seen.mark))
  expect(after.ended.map(({ resource }) => resource)).toEqual(['slow'])
})

it('each activity counts in one state, absent ones apart; each account has every state', async () => {
  const { store } = await openTestStore()
  const accountId = await makeAccount(store)
  const counts = [...(await readCore(store))].filter(([name]) => /^musette_(activities|uploads)/.test(name))
  expect(counts.map(([, count]) => count)).toEqual(Array(5 + 8).fill(0))
  await store.transaction((tx) =>
    tx.client.query(
      `insert into training.activities (account_id, path, detail_state, absent_since, fetched_at, listed_at, wanted_at)
       values ($1, 'a', 'wanted', null, null, now(), now()), ($1, 'b', 'wanted', null, now(), now(), now()),
              ($1, 'c', 'mirrored', null, now(), now(), now()), ($1, 'd', 'wanted', now(), null, now(), now())`,
      [accountId],
    ),
  )
  const values = await readCore(store)
  const wanted = { wanted: 2, awaiting_samples: 0, mirrored: 1, failed: 0, absent: 1 }
  for (const [state, count] of Object.entries(wanted))
    expect(values.get(`musette_activities{"account":"default","state":"${state}"}`), state).toBe(count)
  expect(values.get('musette_backfill_to_go{"account":"default"}')).toBe(1)
})

/** Reads the core gauges by name and labels. */
async function readCore(store: Store) {
  const facts = makeFacts({ config: readConfig({}), store, features: [] }, new Date())
  const readings = await coreGauges.read(facts)
  return new Map(
    readings.flatMap(({ labels, values }) =>
      Object.entries(values).map(([name, value]) => [`${name}${JSON.stringify(labels)}`, value]),
    ),
  )
}

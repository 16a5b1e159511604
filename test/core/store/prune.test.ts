import { expect, test } from 'vitest'
import { findAccountHealth, findAccountStatuses } from '../../../src/core/store/account-status.ts'
import { pruneDrift, recordDrift } from '../../../src/core/store/drift.ts'
import { findRecentRuns, findWholeWorkState, pruneRuns } from '../../../src/core/store/runs.ts'
import type { Store } from '../../../src/core/store/store.ts'
import { readWords } from '../../kit/table.ts'
import { makeAccount, openTestStore, rowsOf } from './open.ts'

/** Adds runs of a resource and kind, one each `every`, from `from` ago until `until` ago. */
const addRuns = (store: Store, run: Record<string, string | number | null>) =>
  store.transaction((tx) =>
    tx.client.query(
      `insert into training.sync_runs (account_id, resource, kind, started_at, finished_at, outcome, changed, error_code, error)
       select $1, $2, $3, at, at + interval '1 s', $4, $5, $6, $6
       from generate_series(now() - $7::interval, now() - $8::interval, $9::interval) at`,
      readWords('account_id resource kind outcome changed error_code from until every').map(
        (key) => run[key] ?? null,
      ),
    ),
  )
const POLL = { resource: 'activities', kind: 'poll', outcome: 'done', changed: 0, every: '6 hours' }

const countRuns = async (store: Store, where: string) =>
  Number((await rowsOf(store, `select count(*) as n from training.sync_runs where ${where}`))[0]?.n)

/** Reads everything that status, doctor, metrics, health checks, the dashboard and mirror_health read from the runs. */
const findReadings = (store: Store) =>
  store.read(async (tx) => ({
    statuses: await findAccountStatuses(tx),
    health: await findAccountHealth(tx),
    exported: await findWholeWorkState(tx, 'export'),
    backedUp: await findWholeWorkState(tx, 'backup'),
    recent: await findRecentRuns(tx, { limit: 50 }),
    view: (await tx.client.query('select * from training.mirror_health order by account_id, item, month'))
      .rows,
  }))

test('old runs are deleted after 90 or 400 days, and nothing that reads runs changes', async () => {
  const { store } = await openTestStore()
  const account_id = await makeAccount(store)
  const failing = await makeAccount(store, 'failing')
  const other = await makeAccount(store, 'other')
  const POLL_A_DAY = { ...POLL, every: '1 day' }
  await addRuns(store, { account_id, ...POLL, from: '600 days', until: '0 days' })
  await addRuns(store, { account_id, ...POLL_A_DAY, changed: 1, from: '600 days', until: '1 day' })
  const failed = { outcome: 'failed', error_code: 'timeout' }
  await addRuns(store, { account_id, ...POLL_A_DAY, ...failed, from: '600 days', until: '2 days' })
  await addRuns(store, { account_id, ...POLL, kind: 'reconcile', from: '600 days', until: '500 days' })
  const export_ = { resource: 'export', kind: 'schedule', outcome: 'done', changed: 0, every: '1 day' }
  await addRuns(store, { ...export_, from: '600 days', until: '450 days' })
  const aborted = { ...export_, outcome: 'failed', error_code: 'aborted' }
  await addRuns(store, { ...aborted, from: '440 days', until: '430 days' })
  await addRuns(store, { account_id: failing, ...POLL_A_DAY, from: '1500 days', until: '1000 days' })
  await addRuns(store, { account_id: failing, ...POLL_A_DAY, ...failed, from: '999 days', until: '1 day' })
  const running = { account_id: failing, ...POLL_A_DAY, outcome: 'running' }
  await addRuns(store, { ...running, from: '700 days', until: '690 days' })
  await addRuns(store, { account_id: other, ...POLL, from: '600 days', until: '500 days' })
  const before = await findReadings(store)
  const ofOther = await countRuns(store, `account_id = ${other}`)

  const prune = (accountId: number) => store.transaction((tx) => pruneRuns(tx, { accountId, limit: 500 }))
  expect(await prune(account_id)).toBe(500)
  for (const id of [account_id, failing]) while ((await prune(id)) > 0);
  expect(await findReadings(store)).toEqual(before)
  const polls = `account_id = ${account_id} and kind = 'poll'`
  expect(await countRuns(store, `${polls} and outcome = 'done' and changed = 0`)).toBe(90 * 4)
  expect(await countRuns(store, `${polls} and outcome = 'done' and changed = 1`)).toBe(399)
  expect(await countRuns(store, `${polls} and outcome = 'failed'`)).toBe(398)
  expect(await countRuns(store, `kind = 'reconcile'`)).toBe(1)
  expect(await countRuns(store, `resource = 'export'`)).toBe(2)
  // The last successful poll and the failure stay known after years of failures, and a running run stays.
  expect(await countRuns(store, `account_id = ${failing} and outcome = 'done'`)).toBe(1)
  expect(await countRuns(store, `account_id = ${failing} and outcome = 'running'`)).toBe(11)
  expect(await countRuns(store, `account_id = ${other}`)).toBe(ofOther)
})

test('pruning keeps the differences that were seen last', async () => {
  const { store, sql } = await openTestStore()
  const drift = ['old', 'middle', 'new'].map((field) => ({ field, kind: 'unknown' as const, example: 1 }))
  for (const one of drift) await store.transaction((tx) => recordDrift(tx, 'activity', [one]))
  expect(await store.transaction((tx) => pruneDrift(tx))).toBe(0)
  expect(await store.transaction((tx) => pruneDrift(tx, 2))).toBe(1)
  expect(await sql`select field from training.drift order by last_seen_at`).toEqual([
    { field: 'middle' },
    { field: 'new' },
  ])
})

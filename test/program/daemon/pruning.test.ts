import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Jobs } from '../../../src/core/jobs/jobs.ts'
import { syncAccount } from '../../../src/program/app/sync-account.ts'
import { makeHandlers } from '../../../src/program/daemon/handlers.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'

let rig: Rig
beforeEach(async () => {
  rig = await openRig({ activities: 1, longestActivitySeconds: 60 })
})
afterEach(() => rig.close())

const OLD = `kind = 'poll' and started_at < now() - interval '90 days'`
const addOld = () =>
  rig.rows(`insert into training.sync_runs (account_id, resource, kind, started_at, finished_at, outcome)
    select account_id, 'activities', 'poll', at, at, 'done'
    from training.accounts, generate_series(now() - interval '200 days', now() - interval '91 days', '5 minutes') at`)
const countOld = async () =>
  Number((await rig.rows(`select count(*) as n from training.sync_runs where ${OLD}`))[0]?.n)

it('the sweep deletes old runs in batches until none is left, then again a day later', async () => {
  let now = Date.now()
  const app = { ...rig.app, mirror: { ...rig.app.mirror, now: () => new Date(now) } }
  const jobs = { enqueue: async () => undefined } as unknown as Jobs
  const { sweep } = makeHandlers(app, () => jobs)
  const context = { signal: new AbortController().signal, log: rig.log.log }
  await addOld()
  const all = await countOld()
  expect(all).toBeGreaterThan(20_000)
  await sweep({}, context)
  expect(await countOld()).toBe(all - 10_000)
  while ((await countOld()) > 1) await sweep({}, context)
  await sweep({}, context)
  await addOld()
  await sweep({}, context)
  expect(await countOld()).toBe(all + 1)
  now += 86_400_000
  await sweep({}, context)
  expect(await countOld()).toBe(all + 1 - 10_000)
})

it('a pass of a command deletes old runs too', async () => {
  await addOld()
  const before = await countOld()
  await syncAccount(rig.app, { name: 'default' })
  expect(await countOld()).toBe(before - 10_000)
})

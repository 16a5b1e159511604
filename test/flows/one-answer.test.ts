import { expect, it } from 'vitest'
import { findAccounts } from '../../src/core/store/account-rows.ts'
import { findAccountHealth } from '../../src/core/store/account-status.ts'
import { findFitness } from '../../src/features/dashboard/pages/fitness/queries.ts'
import { findFormNow } from '../../src/features/dashboard/pages/today/account-day.ts'
import { stateToday } from '../../src/features/mcp/tools/state-today.ts'
import type { Tool } from '../../src/features/mcp/tools/tool.ts'
import { whatIsHere } from '../../src/features/mcp/tools/what-is-here.ts'
import { findDeviceFacts } from '../../src/features/mqtt/device-facts.ts'
import { openScene, type Row } from '../core/store/sql/scene.ts'

it('pages, Home Assistant and assistants agree on recommendation, form and last poll', async () => {
  const scene = await openScene()
  const accountId = await scene.account()
  await scene.query(`update training.accounts set timezone = 'Asia/Tokyo'`)
  // The newest activity with a form has no recovery load on its own day; the newest of all has no form.
  const load = { tl_ftp: 1, tl_hie: 1, tl_pp: 1, rl_ftp: 10, rl_hie: 10, rl_pp: 10 }
  await scene.ride(accountId, '2026-05-01T06:00:00Z', { ...load, form: 5, freshness: 'Fresh' })
  await scene.ride(accountId, '2026-05-02T06:00:00Z', { ...load, rl_ftp: 80, freshness: 'Tired' })
  await scene.ride(accountId, new Date().toISOString(), { zone: 'Asia/Tokyo', xss: 1 })
  // Observed before the week, so that it counts for each day of the week.
  await scene.query(
    `insert into training.training_info (account_id, observed_at, last_seen_at, target_total)
     select $1, at, at, 60 from (select (date_trunc('week', day::timestamp) - interval '12 hours') at time zone 'Asia/Tokyo' as at
       from training.today limit 1) moment`,
    [accountId],
  )
  // A partial poll counts as a poll; a reconcile does not.
  await scene.query(
    `insert into training.sync_runs (account_id, resource, kind, outcome, started_at, finished_at)
     select $1, 'activities', kind, outcome, at, at from (values ('poll', 'done', '2026-05-01 01:00Z'::timestamptz),
       ('poll', 'partial', '2026-05-01 02:00Z'), ('reconcile', 'done', '2026-05-01 03:00Z')) run (kind, outcome, at)`,
    [accountId],
  )
  const rowOf = async (tool: Tool) => {
    const { structuredContent } = await tool.run({ query: scene.query } as never, {} as never)
    return (structuredContent as { accounts: Row[] }).accounts[0]
  }
  const fitness = await findFitness({ store: scene.store }, {})
  await scene.store.read(async (tx) => {
    const [account] = await findAccounts(tx)
    const [health] = await findAccountHealth(tx)
    const facts = account && (await findDeviceFacts(tx, { account, health, backupAt: null }))
    const polledAt = '2026-05-01T02:00:00.000Z'
    expect(health?.polled_at?.toISOString()).toBe(polledAt)
    expect(facts?.state).toMatchObject({ week_recommended: 420, form: 5, rl_total: 30, polled_at: polledAt })
    expect(await findFormNow(tx, accountId)).toMatchObject({ form: 5, recovery_load: 30, freshness: 'Fresh' })
  })
  expect(fitness?.weeks.at(-1)?.recommended).toBe(420)
  expect(await rowOf(stateToday)).toMatchObject({
    ...{ week_recommended_xss: 420, form: 5, recovery_load: 30, form_day: '2026-05-01' },
  })
  expect(await rowOf(whatIsHere)).toMatchObject({ last_good_poll_utc: '2026-05-01 02:00:00Z' })
})

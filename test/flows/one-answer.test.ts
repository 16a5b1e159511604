import { describe, expect, it } from 'vitest'
import { findAccounts } from '../../src/core/store/account-rows.ts'
import { findAccountHealth } from '../../src/core/store/account-status.ts'
import { findFitness } from '../../src/features/dashboard/pages/fitness/queries.ts'
import { findFormNow } from '../../src/features/dashboard/pages/today/account-day.ts'
import { COOKBOOK } from '../../src/features/mcp/cookbook/cookbook.ts'
import { stateToday } from '../../src/features/mcp/tools/state-today.ts'
import type { Tool } from '../../src/features/mcp/tools/tool.ts'
import { whatIsHere } from '../../src/features/mcp/tools/what-is-here.ts'
import { findDeviceFacts } from '../../src/features/mqtt/device-facts.ts'
import { openScene, type Row, type Scene } from '../core/store/sql/scene.ts'

/** Asks all who tell the state of an account: the pages, Home Assistant, the tools of assistants, the cookbook. */
async function askAll(scene: Scene) {
  const rowsOf = async (tool: Tool) => {
    const { structuredContent } = await tool.run({ query: scene.query } as never, {} as never)
    return (structuredContent as { accounts: Row[] }).accounts[0] ?? {}
  }
  const recipe = async (name: string) => {
    const { sql = '' } = COOKBOOK.find((each) => each.name === name) ?? {}
    return (await scene.query(sql)) as Row[]
  }
  const { facts, form, health } = await scene.store.read(async (tx) => {
    const [account] = await findAccounts(tx)
    if (!account) throw new Error('there is an account')
    const [health] = await findAccountHealth(tx)
    const facts = await findDeviceFacts(tx, { account, health, backupAt: null })
    return { facts, health, form: await findFormNow(tx, account.accountId) }
  })
  const fitness = await findFitness({ store: scene.store }, {})
  const [state, here] = [await rowsOf(stateToday), await rowsOf(whatIsHere)]
  return { home: facts.state, form, health, fitness, state, here, recipe }
}

const WEEK = `(select date_trunc('week', day::timestamp) from training.today limit 1)`

async function openInTokyo() {
  const scene = await openScene()
  const accountId = await scene.account()
  await scene.query(`update training.accounts set timezone = 'Asia/Tokyo'`)
  return { ...scene, accountId }
}

describe('one question has one answer, whoever is asked:', () => {
  it.each([
    ['from Tuesday on', `${WEEK} + interval '36 hours'`, null],
    ['before the week', `${WEEK} - interval '12 hours'`, 420],
  ])('what is recommended this week, told %s', async (_, told, expected) => {
    const scene = await openInTokyo()
    await scene.ride(scene.accountId, new Date().toISOString(), { zone: 'Asia/Tokyo', xss: 1 })
    await scene.query(
      `insert into training.training_info (account_id, observed_at, last_seen_at, target_total)
       select $1, at, at, 60 from (select (${told}) at time zone 'Asia/Tokyo' as at) moment`,
      [scene.accountId],
    )
    const { home, fitness, state } = await askAll(scene)
    expect(home.week_recommended).toBe(expected)
    expect(fitness?.weeks.at(-1)?.recommended).toBe(expected)
    expect(state.week_recommended_xss).toBe(expected)
  })

  it('the form now, while the newest activity has none or no recovery load', async () => {
    const scene = await openInTokyo()
    const load = { tl_ftp: 1, tl_hie: 1, tl_pp: 1, rl_ftp: 10, rl_hie: 10, rl_pp: 10 }
    await scene.ride(scene.accountId, '2026-05-01T06:00:00Z', { ...load, form: 5, freshness: 'Fresh' })
    await scene.ride(scene.accountId, '2026-05-02T06:00:00Z', { ...load, rl_ftp: 80, freshness: 'Tired' })
    const first = await askAll(scene)
    expect(first.form).toMatchObject({ form: 5, recovery_load: 30, freshness: 'Fresh' })
    expect(first.home).toMatchObject({ form: 5, rl_total: 30, freshness: 'Fresh' })
    expect(first.state).toMatchObject({ form: 5, recovery_load: 30, form_day: '2026-05-01' })
    await scene.ride(scene.accountId, '2026-05-03T06:00:00Z', { form: 7 })
    const second = await askAll(scene)
    expect(second.form).toMatchObject({ form: 7, recovery_load: null })
    expect(second.home).toMatchObject({ form: 7, rl_total: null })
    expect(second.state).toMatchObject({ form: 7, recovery_load: null, form_day: '2026-05-03' })
  })

  it('when the last poll ended well: a partial one did, and a reconcile is none', async () => {
    const scene = await openInTokyo()
    const run = (kind: string, outcome: string, hour: number) =>
      scene.query(
        `insert into training.sync_runs (account_id, resource, kind, outcome, started_at, finished_at)
         select $1, 'activities', $2, $3, at, at from (select '2026-05-01 00:00Z'::timestamptz + $4 * interval '1 hour' as at) moment`,
        [scene.accountId, kind, outcome, hour],
      )
    await run('poll', 'done', 1)
    await run('poll', 'partial', 2)
    await run('reconcile', 'done', 3)
    const { home, here, health } = await askAll(scene)
    expect(health?.polled_at?.toISOString()).toBe('2026-05-01T02:00:00.000Z')
    expect(home.polled_at).toBe('2026-05-01T02:00:00.000Z')
    expect(here.last_good_poll_utc).toBe('2026-05-01 02:00:00Z')
  })
})

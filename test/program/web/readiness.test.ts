import { afterEach, describe, expect, it } from 'vitest'
import type { Role } from '../../../src/program/daemon/roles.ts'
import { eventually } from '../../kit/eventually.ts'
import { openWebRig, type WebRig } from './rig.ts'

describe('a daemon', () => {
  let rig: WebRig | undefined
  afterEach(async () => {
    await rig?.close()
    rig = undefined
  })

  const open = async (roles: readonly Role[]) => {
    rig = await openWebRig({ roles, env: { MUSETTE_POLL_EVERY: '1h' } })
    return rig
  }
  const addAccount = (
    at: WebRig,
    input: { name: string; polledAgo?: string; outcome?: string; parked?: boolean },
  ) =>
    at.rows(
      `with a as (insert into training.accounts (name, base_url, needs_login) values ($1, 'http://x', $2) returning account_id)
       insert into training.sync_runs (account_id, resource, kind, started_at, finished_at, outcome)
       select account_id, 'activities', 'poll', now() - $3::interval, now() - $3::interval, $4
       from a where $3::interval is not null`,
      [input.name, input.parked ?? false, input.polledAgo ?? null, input.outcome ?? 'done'],
    )
  const readiness = async (at: WebRig, names: readonly string[]) => {
    const answer = await eventually(async () => {
      const seen = await at.ask('/readyz')
      return names.every((name) => JSON.parse(seen.body).accounts[name]) && seen
    })
    return { status: answer.status, ...JSON.parse(answer.body) }
  }

  it('is ready if every signed-in account was polled lately; otherwise it names the late accounts', async () => {
    const at = await open(['worker', 'web'])
    const answer = await at.ask('/readyz')
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.body)).toEqual({
      ready: true,
      parts: { database: 'ok', queue: 'ok', files: 'ok', polls: 'ok' },
      identity: expect.stringMatching(/^[0-9a-f-]{36}$/),
      accounts: {},
      server: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
    })
    await addAccount(at, { name: 'anna', polledAgo: '2 hours 50 minutes' })
    await addAccount(at, { name: 'ben', polledAgo: '3 days', parked: true })
    const seen = await readiness(at, ['anna', 'ben'])
    expect(seen).toMatchObject({ status: 200, ready: true, parts: { polls: 'ok' } })
    expect(seen.accounts.ben).toBe('needs login')
    await addAccount(at, { name: 'cleo', polledAgo: '4 hours' })
    await addAccount(at, { name: 'dora', polledAgo: '1 minute', outcome: 'failed' })
    const late = await readiness(at, ['cleo', 'dora'])
    expect(late).toMatchObject({ status: 503, ready: false })
    expect(late.parts.polls).toBe('2 of 4 accounts not polled lately; run: musette status')
    expect(late.accounts.cleo).toMatch(/^last poll: \d{4}-/)
    expect(late.accounts.dora).toBe('last poll: never')
  })

  it('is ready without polls of its own if others are late, and reports them', async () => {
    const at = await open(['web'])
    await addAccount(at, { name: 'ben', polledAgo: '4 hours' })
    const seen = await readiness(at, ['ben'])
    expect(seen).toMatchObject({ status: 200, ready: true })
    expect(Object.keys(seen.parts)).toEqual(['database', 'queue', 'files'])
    expect(seen.accounts.ben).toMatch(/^last poll: \d{4}-/)
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectMirrored } from '../../core/mirror/truth.ts'
import { eventually } from '../../kit/eventually.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { type CliRig, openCliRig } from './rig.ts'

const ACTIVITIES = 16

describe('a process that is killed', () => {
  let rig: CliRig
  beforeAll(async () => {
    rig = await openCliRig({ activities: ACTIVITIES })
    await rig.signIn()
  })
  afterAll(() => rig.close())

  const mirrored = async () => {
    const [row] = await queryOnce(
      rig.databaseUrl,
      `select count(*)::int as n from training.activities where detail_state = 'mirrored'`,
    )
    return Number(row?.n)
  }

  it('repeatedly during a sync leaves a mirror that the next one completes', async () => {
    // So slow that a busy machine sees it before it is done.
    await rig.steer('PATCH', 'settings', { latency_ms: 600 })
    for (const least of [1, 5, 9]) {
      const sync = rig.start(['sync'], { env: { MUSETTE_CONCURRENCY: '2' } })
      await eventually(async () => (await mirrored()) >= least)
      await sync.kill('SIGKILL')
    }
    await rig.steer('PATCH', 'settings', { latency_ms: 0 })
    const before = await mirrored()
    expect(before).toBeLessThan(ACTIVITIES)
    const last = await rig.musette(['sync', '--json'])
    expect(last.code).toBe(0)
    expect(JSON.parse(last.stdout)).toMatchObject({ fetched: ACTIVITIES - before, failed: 0, pending: 0 })
    await expectMirrored(rig)
    const outcomes = await queryOnce(
      rig.databaseUrl,
      'select distinct outcome from training.sync_runs order by 1',
    )
    expect(outcomes).toEqual([{ outcome: 'abandoned' }, { outcome: 'done' }])
  })
})

describe('a sync that is stopped', () => {
  it('by SIGINT says so with exit code 130, and the next one continues', async () => {
    const rig = await openCliRig({ activities: ACTIVITIES })
    try {
      await rig.signIn()
      await rig.steer('PATCH', 'settings', { latency_ms: 100 })
      const sync = rig.start(['sync'])
      await eventually(() =>
        queryOnce(rig.databaseUrl, `select 1 from training.activities where detail_state = 'mirrored'`).then(
          (rows) => rows[0],
        ),
      )
      const end = await sync.kill('SIGINT')
      expect(end).toMatchObject({ code: 130 })
      expect(end.stderr).toContain('stopped before it was done')
      expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
    } finally {
      await rig.close()
    }
  })
})

// Daemons that are killed with their queue in Redis: test/flows/scale/fleet.test.ts.
describe('the daemon', () => {
  let rig: CliRig
  beforeAll(async () => {
    rig = await openCliRig({ activities: ACTIVITIES })
    await rig.signIn()
  })
  afterAll(() => rig.close())

  it('mirrors the history, follows an edit, and ends at SIGTERM with exit code 0', async () => {
    const daemon = rig.start(['start'], { env: { MUSETTE_POLL_EVERY: '1s' } })
    await eventually(() => expectMirrored(rig).then(() => true), { everyMs: 500 })
    const [row] = await queryOnce(rig.databaseUrl, 'select path from training.activities limit 1')
    await rig.steer('PATCH', `activities/${row?.path}`, { name: 'Edited meanwhile' })
    await eventually(() =>
      queryOnce(rig.databaseUrl, `select 1 from training.activities where name = 'Edited meanwhile'`).then(
        (rows) => rows[0],
      ),
    )
    const end = await daemon.kill('SIGTERM')
    expect(end).toMatchObject({ code: 0, signal: null })
  })

  it('may be killed during the backfill, which the next one completes', async () => {
    await queryOnce(
      rig.databaseUrl,
      'truncate training.activities, training.samples, training.sync_cursors cascade',
    )
    await rig.steer('PATCH', 'settings', { latency_ms: 60 })
    const first = rig.start(['start'])
    await eventually(() =>
      queryOnce(rig.databaseUrl, `select 1 from training.activities where detail_state = 'mirrored'`).then(
        (rows) => rows[0],
      ),
    )
    await first.kill('SIGKILL')
    const second = rig.start(['start'])
    await eventually(() => expectMirrored(rig).then(() => true), { timeoutMs: 90_000, everyMs: 500 })
    expect(await second.kill('SIGTERM')).toMatchObject({ code: 0 })
  }, 180_000)
})

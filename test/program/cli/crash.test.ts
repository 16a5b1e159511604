import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectMirrored } from '../../core/mirror/truth.ts'
import { eventually } from '../../kit/eventually.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { type CliRig, openCliRig } from './rig.ts'

const ACTIVITIES = 16

let rig: CliRig
beforeAll(async () => {
  rig = await openCliRig({ activities: ACTIVITIES })
  await rig.signIn()
})
afterAll(() => rig.close())

const rows = (text: string) => queryOnce(rig.databaseUrl, text)
const countWhere = async (rule: string) =>
  Number((await rows(`select count(*)::int as n from training.activities where ${rule}`))[0]?.n)
const mirrored = () => countWhere(`detail_state = 'mirrored'`)

// Stops by SIGINT: terminal.test.ts.
it('a sync that is killed repeatedly leaves a mirror that the next one completes', async () => {
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
  const outcomes = await rows('select distinct outcome from training.sync_runs order by 1')
  expect(outcomes).toEqual([{ outcome: 'abandoned' }, { outcome: 'done' }])
})

// Daemons that are killed with their queue in Redis: test/flows/scale/fleet.test.ts.
it('a daemon that is killed during the backfill is followed by one that completes it, follows an edit, and ends at SIGTERM with exit code 0', async () => {
  await rows('truncate training.activities, training.samples, training.sync_cursors cascade')
  await rig.steer('PATCH', 'settings', { latency_ms: 60 })
  const start = () => rig.start(['start'], { env: { MUSETTE_POLL_EVERY: '1s' } })
  const first = start()
  await eventually(async () => (await mirrored()) > 0)
  await first.kill('SIGKILL')
  const second = start()
  await eventually(() => expectMirrored(rig).then(() => true), { timeoutMs: 90_000, everyMs: 500 })
  const [row] = await rows('select path from training.activities limit 1')
  await rig.steer('PATCH', `activities/${row?.path}`, { name: 'Edited meanwhile' })
  await eventually(async () => (await countWhere(`name = 'Edited meanwhile'`)) > 0)
  expect(await second.kill('SIGTERM')).toMatchObject({ code: 0, signal: null })
}, 180_000)

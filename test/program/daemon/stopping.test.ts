import { readdir } from 'node:fs/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { expectMirrored } from '../../core/mirror/truth.ts'
import { eventually } from '../../kit/eventually.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { openLine } from '../../kit/postgres-line.ts'
import type { Running } from '../../kit/processes.ts'
import { openCliRig } from '../cli/rig.ts'

const ACTIVITIES = 16
const STOPPED = { code: 0, signal: null }

const rig = openForAll(() => openCliRig({ activities: ACTIVITIES, isSignedIn: true }))

async function start(env: Record<string, string> = {}): Promise<Running> {
  const daemon = rig.start(['start'], { env: { MUSETTE_POLL_EVERY: '1s', MUSETTE_LAG: '30s', ...env } })
  onTestFinished(async () => void (await daemon.kill('SIGKILL')))
  await daemon.waitForLine(/"msg":"started"/)
  return daemon
}

const counts = () => rig.steer<Record<string, Record<string, number>>>('GET', 'counts')
const expectMirroredSoon = () => eventually(() => expectMirrored(rig).then(() => true), { everyMs: 500 })

/** The mirrored activities, and how many of their samples are stored. */
const MIRRORED = `select sample_count as wanted, (select count(*)::int from training.samples s where s.activity_id = a.activity_id) as held
  from training.activities a where detail_state = 'mirrored'`
const ORPHANS = `select activity_id from training.samples
  where activity_id not in (select activity_id from training.activities where detail_state = 'mirrored') limit 1`

// For the stop of a queue and of uploads, see test/core/jobs/stopping.test.ts and test/core/upload/crash.test.ts.
describe('a daemon that is stopped', () => {
  it('during a backfill leaves only complete rides, ends even without its database, and the next one continues', async () => {
    const line = await openForTest(openLine(rig.databaseUrl))
    await rig.steer('PATCH', 'settings', { latency_ms: 60 })
    const first = await start({ MUSETTE_CONCURRENCY: '2' })
    process.kill(first.pid, 'SIGUSR2')
    await first.waitForLine(/"shown":"debug"/)
    process.kill(first.pid, 'SIGUSR2')
    await first.waitForLine(/"shown":"info"/)
    await eventually(async () => (await rig.rows(MIRRORED)).length >= 3)
    expect(await first.kill('SIGTERM')).toMatchObject(STOPPED)
    const before = await rig.rows(MIRRORED)
    expect(before.length).toBeLessThan(ACTIVITIES)
    for (const { wanted, held } of before) expect(held).toBe(wanted)
    expect(await rig.rows(ORPHANS)).toEqual([])
    expect(await rig.rows(`select * from training.sync_runs where outcome = 'running'`)).toEqual([])
    await rig.steer('POST', 'counts/reset')
    const second = await start({ DATABASE_URL: line.url })
    line.become('cut')
    await second.waitForLine(/"level":40.*database/)
    expect(await second.kill('SIGTERM')).toMatchObject(STOPPED)
    await rig.steer('PATCH', 'settings', { latency_ms: 0 })
    const third = await start()
    await expectMirroredSoon()
    // Complete rides are not fetched again: the next daemon requests the rest, and what the summary of each answer needs.
    const { 'GET /oauth/activity/:path': fetched } = (await counts()).requests ?? {}
    expect(fetched).toBeGreaterThanOrEqual(ACTIVITIES - before.length)
    expect(fetched).toBeLessThanOrEqual(ACTIVITIES + 4)
    expect(await third.kill('SIGTERM')).toMatchObject(STOPPED)
  }, 180_000)

  it('during a token refresh waits for the answer and stores the new pair, which the next daemon uses', async () => {
    await rig.steer('PATCH', 'settings', { reuse_revokes_grant: true })
    await rig.steer('POST', 'faults', { path: '^/oauth/token$', kind: 'slow', duration_ms: 3_000 })
    await rig.steer('POST', 'tokens/expire')
    const daemon = await start()
    await eventually(async () => Number((await counts()).faults) > 0)
    expect(await daemon.kill('SIGTERM')).toMatchObject(STOPPED)
    expect(await readdir(rig.dataDir)).not.toContainEqual(expect.stringContaining('.spool'))
    expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
    expect((await counts()).tokens).toMatchObject({ refresh_token: 1, rejected: 0 })
    expect(await rig.rows('select needs_login from training.accounts')).toEqual([{ needs_login: false }])
  })
})

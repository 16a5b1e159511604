import { describe, expect, it } from 'vitest'
import { recordTrainingInfo } from '../../../src/core/store/training-info-rows.ts'
import { useScene } from './training-scene.ts'

describe('training info', () => {
  const rows = () => scene.sql`select * from training.training_info order by observed_at`
  const scene = useScene()

  it('is kept completely; a poll without a change adds no row', async () => {
    await scene.pollInfo()
    const [row, ...more] = await rows()
    expect(more).toEqual([])
    const raw = Object(row?.raw) as Record<string, Record<string, unknown>>
    const { signature, tl, targetXSS, wotd } = raw
    const columnsOf = (prefix: string, part = {}) =>
      Object.fromEntries(Object.entries(part).map(([name, value]) => [`${prefix}_${name}`, value]))
    expect(row).toMatchObject({ ...signature, ...columnsOf('tl', tl), ...columnsOf('target', targetXSS) })
    const { type, name, workoutId, difficulty, description } = wotd ?? {}
    expect(row).toMatchObject({
      ...{ status: raw.status, weight_kg: raw.weight, source: 'Improvement Rate' },
      ...columnsOf('wotd', { type, name, workout_id: workoutId, difficulty, description }),
    })
    await scene.requests()
    await scene.pollInfo()
    expect(await scene.requests()).toEqual({ 'GET /oauth/training_info': 1 })
    const [after, ...others] = await rows()
    expect(others).toEqual([])
    expect(after?.observed_at).toEqual(row?.observed_at)
    expect(Number(after?.last_seen_at)).toBeGreaterThan(Number(row?.last_seen_at))
    expect(after?.wotd_url).toBe(row?.wotd_url)
  })

  it('gets a new row if a ride changed the loads, and keeps the old row', async () => {
    await scene.pollInfo()
    await scene.add({ seconds: 7_200, kind: 'race' })
    await scene.pollInfo()
    const [before, after, ...more] = await rows()
    expect(more).toEqual([])
    expect(after?.tl_low).toBeGreaterThan(Number(before?.tl_low))
    expect(after?.wotd_url).toBe(before?.wotd_url)
    const raw = { success: true, signature: { ftp: expect.anything() }, tl: { low: expect.anything() } }
    expect(after?.raw).toMatchObject(raw)
  })

  it('uses the valid parts of an odd response, stores it whole, reports the rest', async () => {
    const signature = { ftp: '251.5', ltp: 200, hie: 20.1, pp: null }
    const odd = { success: true, signature, targetXSS: [], wotd: { type: 'None' }, mood: 'new\u0000field' }
    await scene.answer('^/oauth/training_info$', odd)
    await scene.pollInfo()
    const [row] = await rows()
    expect(row).toMatchObject({ ftp: 251.5, pp: null, target_low: null, wotd_type: 'None' })
    expect(row?.raw).toEqual({ ...odd, mood: 'newfield' })
    const drift = await scene.sql`select field from training.drift where endpoint = 'training_info'`
    expect(drift).toContainEqual({ field: 'mood' })
  })

  it('is not overwritten by a response that was requested earlier', async () => {
    await scene.pollInfo()
    const [row] = await rows()
    const older = {
      accountId: scene.account.accountId,
      requestedAt: new Date(Number(row?.last_seen_at) - 1_000),
      row: { status: 'Tired' } as Parameters<typeof recordTrainingInfo>[1]['row'],
      raw: { status: 'Tired' },
      isSame: () => false,
    }
    expect(await scene.app.store.transaction((tx) => recordTrainingInfo(tx, older))).toBe('older')
    expect(await rows()).toEqual([row])
  })

  it('is updated even after our clock was set back by hours', async () => {
    await scene.sql`insert into training.training_info (account_id, observed_at, last_seen_at, raw, status)
      select account_id, now() + interval '5 hours', now() + interval '5 hours', '{}', 'Tired' from training.accounts`
    expect(await scene.pollInfo()).toMatchObject({ changed: 1 })
    expect(await scene.pollInfo()).toMatchObject({ changed: 0 })
    expect((await rows()).map((row) => row.wotd_type)).toEqual([null, 'Scheduled'])
  })

  it.each(['signature', 'tl', 'targetXSS', 'wotd'])(
    'keeps its values if a response lacks %s, until three days have passed',
    async (part) => {
      await scene.pollInfo()
      const before = await rows()
      const { [part]: _left, ...poorer } = { ...(before[0]?.raw as object) } as Record<string, unknown>
      await scene.answer('^/oauth/training_info$', { ...poorer, status: 'Tired' })
      await expect(scene.pollInfo()).rejects.toThrow(
        `training info: the answer lacks ${part} that the service has sent before`,
      )
      expect(await rows()).toEqual(before)
      const failed = `update training.sync_runs set started_at = now() - $1::interval where error_code = 'poorer_answer'`
      await scene.rows(failed, ['2 days'])
      await expect(scene.pollInfo()).rejects.toThrow('lacks')
      await scene.rows(failed, ['4 days'])
      await scene.sql`update training.sync_runs set started_at = now() - interval '5 days' where resource = 'training_info'
        and outcome = 'done'`
      await scene.pollInfo()
      expect(await rows()).toHaveLength(2)
    },
  )

  it('without a signature does not cause a refetch of every workout', async () => {
    await scene.pollInfo()
    await scene.pollWorkouts()
    await scene.sql`update training.training_info set ftp = null, ltp = null, hie = null, pp = null`
    await scene.requests()
    await scene.pollWorkouts()
    expect(await scene.requests()).not.toHaveProperty('GET /oauth/workout/:path')
  })
})

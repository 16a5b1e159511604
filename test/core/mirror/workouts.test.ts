import { describe, expect, it } from 'vitest'
import { useScene } from './training-scene.ts'

const OWN = ['own0tempo0000001', 'own0untitled0003', 'own0vo2max000002']
const DEFAULTS = 4
const DEFINITION = 'GET /oauth/workout/:path'

describe('the workouts', () => {
  const listed = () =>
    scene.sql`select * from training.workouts where absent_since is null order by account_id, path`
  const own = async () => (await listed()).filter((row) => row.account_id !== null)
  const absent = async () =>
    (await scene.sql`select path from training.workouts where absent_since is not null order by 1`).map(
      (row) => row.path,
    )
  const sets = (path: string) =>
    scene.sql`select * from training.workout_sets where path = ${path} order by account_id, position`
  const scene = useScene()

  it('are the default and the rider’s own workouts, with their sets in watts', async () => {
    expect(await scene.pollWorkouts()).toMatchObject({ failed: 0 })
    const rows = await listed()
    expect(rows).toHaveLength(DEFAULTS + OWN.length)
    expect((await own()).map((row) => row.path)).toEqual(OWN)
    for (const row of rows) {
      const raw = row.raw as Record<string, unknown>
      expect(row).toMatchObject({ path: raw.path, name: raw.name, description: raw.description })
      expect(row.last_modified).toEqual(new Date(Number(raw.last_modified) * 1_000))
    }
    const [info] = await scene.sql`select ftp, ltp, hie, pp from training.training_info`
    const tempo = await sets('own0tempo0000001')
    expect(tempo.map((set) => set.name)).toEqual(['Warmup', 'Intervals', 'Cooldown'])
    expect(tempo[1]).toMatchObject({
      position: 1,
      index: 1,
      power: Math.round(2 * 0.88 * Number(info?.ftp)) / 2,
      duration: 900,
      duration_rest: 240,
      interval_count: 2,
      signature: info,
    })
    expect(tempo[0]).toMatchObject({ power_rest: null, duration_rest: null })
  })

  it('are stored as the service resolved them, with unknown fields', async () => {
    const definition = {
      ...{ success: true, name: 'Tempo \u0000at noon', description: null, coach: { id: '07' } },
      workout: [
        { name: 'Work', power: '146.5', duration: '00:10:00', power_rest: 90, cadence: 95 },
        { name: 'Long', duration: '00:59:20', duration_rest: '01:30', interval_count: '2', index: '0' },
      ],
    }
    await scene.answer(`^/oauth/workout/${OWN[0]}$`, definition)
    await scene.pollWorkouts()
    const [kept] =
      await scene.sql`select name, description, raw from training.workout_definitions where path = ${OWN[0]}`
    const name = 'Tempo at noon'
    expect(kept).toEqual({ name, description: null, raw: { ...definition, name } })
    expect(await sets(String(OWN[0]))).toMatchObject([
      { name: 'Work', power: 146.5, duration: 600, power_rest: 90 },
      { duration: 3_560, duration_rest: 90, interval_count: 2, index: 0, power: null },
    ])
    const [own] = await scene.rows(
      `select d.name = w.name and d.description = w.description as same, jsonb_array_length(d.raw->'workout') as sets
       from training.workout_definitions d join training.workouts w using (account_id, path) where path = $1`,
      [OWN[2]],
    )
    expect(own).toEqual({ same: true, sets: (await sets(String(OWN[2]))).length })
  })

  it('keep their sets if a response has none, with the reason in their row', async () => {
    await scene.pollWorkouts()
    const path = String(OWN[0])
    const before = await sets(path)
    await scene.sql`update training.workout_definitions set resolved_at = '2020-01-01' where path = ${path}`
    await scene.answer(`^/oauth/workout/${path}$`, { success: true, name: 'Tempo', workout: [] })
    expect(await scene.pollWorkouts()).toMatchObject({ failed: 1 })
    expect(await sets(path)).toEqual(before)
    const [row] = await scene.sql`select fetch_error from training.workout_definitions where path = ${path}`
    expect(row?.fetch_error).toContain('the answer lacks all of its sets that the service has sent before')
    await scene.heal()
    expect(await scene.pollWorkouts()).toMatchObject({ failed: 0 })
  })

  it('are all resolved again if the signature changed', async () => {
    await scene.pollWorkouts()
    for (let i = 0; i < 3; i++) await scene.add({ seconds: 10_800, kind: 'race' })
    await scene.pollInfo()
    await scene.requests()
    const [before] = await sets('own0tempo0000001')
    await scene.pollWorkouts()
    expect((await scene.requests())[DEFINITION]).toBe(DEFAULTS + OWN.length)
    const [after] = await sets('own0tempo0000001')
    expect(after?.power).not.toBe(before?.power)
    expect(after?.signature).not.toEqual(before?.signature)
  })

  it('are resolved again after an edit, marked if deleted, and restored if listed again', async () => {
    await scene.pollWorkouts()
    const before = await sets('own0tempo0000001')
    await scene.requests()
    await scene.steer('PATCH', `workouts/${OWN[0]}`, { name: 'Long \u0000lunch' })
    await scene.pollWorkouts()
    expect((await scene.requests())[DEFINITION]).toBe(1)
    expect((await own())[0]?.name).toBe('Long lunch')
    await scene.steer('PATCH', `workouts/${OWN[0]}`, { deleted: true })
    expect(await scene.pollWorkouts()).toMatchObject({ failed: 0 })
    expect(await absent()).toEqual([OWN[0]])
    expect(await sets('own0tempo0000001')).toMatchObject(before.map(({ resolved_at: _, ...set }) => set))
    await scene.steer('PATCH', `workouts/${OWN[0]}`, { deleted: false })
    await scene.pollWorkouts()
    expect(await absent()).toEqual([])
  })

  it('stay if a list of several is suddenly empty, until it has been empty for days', async () => {
    await scene.pollWorkouts()
    const before = await listed()
    await scene.answer('^/oauth/workout$', { success: true, workouts: [] })
    await expect(scene.pollWorkouts()).rejects.toMatchObject({ code: 'list_shrunken' })
    expect(await listed()).toEqual(before)
    const [run] =
      await scene.sql`select outcome, error_code from training.sync_runs where resource = 'default_workouts'
      order by run_id desc`
    expect(run).toEqual({ outcome: 'failed', error_code: 'list_shrunken' })
    await scene.sql`update training.sync_runs set started_at = started_at - interval '4 days'`
    await scene.pollWorkouts()
    expect(await absent()).toHaveLength(DEFAULTS)
    expect(await own()).toHaveLength(OWN.length)
  })

  it('stay if a list or an entry cannot be read; the other list is mirrored', async () => {
    await scene.fault('^/oauth/workout$', { kind: 'html' })
    await expect(scene.pollWorkouts()).rejects.toThrow('not JSON')
    expect((await own()).map((row) => row.path)).toEqual(OWN)
    await scene.heal()
    const [, { name } = {}] = await own()
    const workouts = [{ path: OWN[0], name: 1 }, { path: OWN[1], description: 'New' }, 7]
    await scene.answer('^/oauth/workouts$', { success: true, workouts })
    expect(await scene.pollWorkouts()).toMatchObject({ failed: 1 })
    expect(await absent()).toEqual([])
    expect(await own()).toMatchObject([{ name: '1' }, { name, description: 'New' }, {}])
  })

  it('are read from a published capture of the service', async () => {
    await scene.pollWorkouts()
    const before = await listed()
    await scene.steer('PATCH', 'settings', { workout_dialect: 'capture' })
    await scene.pollWorkouts()
    const after = await listed()
    expect(after.map((row) => Math.floor(Number(row.last_modified) / 1_000))).toEqual(
      before.map((row) => Math.floor(Number(row.last_modified) / 1_000)),
    )
    const threshold = after.find((row) => row.path === 'df0threshold0002')
    expect(threshold?.description).toBe('Three times ten minutes.\r\nStay seated.')
    expect(threshold?.raw).toMatchObject({ duration: '01:00:00', sets: [{}, { interval_count: '3' }, {}] })
    expect((await sets('own0tempo0000001'))[1]?.interval_count).toBe(2)
  })

  it('of two accounts are kept apart, and default workouts are resolved for each', async () => {
    const second = await scene.signIn('second')
    await scene.pollWorkouts()
    await scene.pollWorkouts(second)
    const rows = await listed()
    expect(rows.filter((row) => row.account_id === null)).toHaveLength(DEFAULTS)
    expect(rows.filter((row) => row.account_id === second.accountId)).toHaveLength(OWN.length)
    const easy = await sets('df0easyspin00001')
    expect(new Set(easy.map((set) => set.account_id))).toEqual(
      new Set([scene.account.accountId, second.accountId]),
    )
    expect(easy[0]?.power).not.toBe(easy[3]?.power)
  })
})

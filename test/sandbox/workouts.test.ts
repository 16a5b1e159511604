import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openClient, type TestClient } from './client.ts'

let client: TestClient
let token: string
beforeEach(async () => {
  client = await openClient({ activities: 30 })
  token = await client.signIn()
})
afterEach(() => client.sandbox.close())

type Set = { name: string; index: number; power: number; duration: number; interval_count: number }
type Definition = { success: boolean; name: string; workout: Set[] }
type Info = { wotd: Record<string, unknown>; signature: Record<string, number>; status: string }
type List = { workouts: Array<Record<string, unknown>> }

const info = (query = '') => client.get<Info>(`/oauth/training_info${query}`, token).then(({ body }) => body)

describe('training info', () => {
  it('has every field of the document', async () => {
    const loads = { low: expect.any(Number), high: expect.any(Number), peak: expect.any(Number) }
    expect(await info()).toEqual({
      success: true,
      signature: {
        ftp: expect.any(Number),
        ltp: expect.any(Number),
        hie: expect.any(Number),
        pp: expect.any(Number),
      },
      status: expect.stringMatching(/^(Detraining|Very fresh|Fresh|Tired|Very tired)$/),
      weight: expect.any(Number),
      tl: { ...loads, total: expect.any(Number) },
      targetXSS: { ...loads, total: expect.any(Number) },
      source: expect.any(String),
      wotd: expect.objectContaining({ type: expect.any(String) }),
    })
  })

  it('gets tired with training and fresh with rest', async () => {
    for (let i = 0; i < 4; i++) {
      await client.steer('POST', 'activities', { seconds: 10_800, kind: 'race' })
    }
    expect((await info()).status).toBe('Very tired')
    client.clock.turn(25 * 86_400_000)
    token = await client.signIn()
    expect((await info()).status).toBe('Very fresh')
  })

  it('gives the workout of the day a file only for a requested format', async () => {
    await client.steer('PATCH', 'settings', { wotd_type: 'Scheduled' })
    const { wotd } = await info()
    expect(Object.keys(wotd).sort()).toEqual(['description', 'difficulty', 'name', 'type', 'workoutId'])
    for (const format of ['erg', 'zwo']) {
      const url = String((await info(`?format=${format}`)).wotd.url)
      expect(url).toBe(`${client.sandbox.url}/oauth/workout-download/${wotd.workoutId}.${format}`)
      expect((await fetch(url)).status).toBe(401)
      const file = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
      const text = await file.text()
      if (format === 'zwo') expect(text).toMatch(/^<\?xml[\s\S]*<workout_file>[\s\S]*<\/workout_file>\s*$/)
      else
        expect(text).toMatch(
          /^\[COURSE HEADER\][\s\S]*\[COURSE DATA\]\r\n0\.00\t\d+\r\n[\s\S]*\[END COURSE DATA\]/,
        )
    }
  })

  it('has only None without a workout of the day', async () => {
    await client.steer('PATCH', 'settings', { wotd_type: 'None' })
    expect((await info('?format=erg')).wotd).toEqual({ type: 'None' })
  })
})

describe('workouts', () => {
  it('are listed for everybody and for the rider', async () => {
    await client.steer('PATCH', 'settings', { workout_dialect: 'document' })
    const fields = ['description', 'last_modified', 'name', 'path']
    for (const path of ['/oauth/workout', '/oauth/workouts']) {
      const { workouts } = (await client.get<List>(path, token)).body
      expect(workouts.length).toBeGreaterThan(1)
      for (const workout of workouts) expect(Object.keys(workout).sort()).toEqual(fields)
    }
  })

  it('are resolved for the signature of the requesting rider, whoever made them', async () => {
    const second = await client.signIn('second')
    const { workouts } = (await client.get<List>('/oauth/workouts', second)).body
    const address = `/oauth/workout/${workouts[0]?.path}`
    const watts = async (bearer: string) =>
      (await client.get<Definition>(address, bearer)).body.workout.map(({ power }) => power)
    expect(await watts(token)).not.toEqual(await watts(second))
    const { ftp = 0 } = (await info()).signature
    expect((await watts(token))[1]).toBe(Math.round(2 * 0.88 * ftp) / 2)
  })

  it('split an interval that depends on available power into sets of one name and index', async () => {
    const { workout } = (await client.get<Definition>('/oauth/workout/df0mpafade000003', token)).body
    const sets = workout.filter(({ index }) => index === 1)
    expect(sets.length).toBeGreaterThan(1)
    expect(new Set(sets.map(({ name }) => name)).size).toBe(1)
    expect(sets.reduce((sum, { interval_count }) => sum + interval_count, 0)).toBe(6)
  })

  it('change their last_modified when edited, and leave the list when deleted', async () => {
    await client.steer('PATCH', 'workouts/own0tempo0000001', { name: 'New name' })
    const named = (await client.get<List>('/oauth/workouts', token)).body.workouts[0]
    expect(named).toMatchObject({ name: 'New name', last_modified: client.clock.now().getTime() / 1_000 })
    await client.steer('PATCH', 'workouts/own0tempo0000001', { deleted: true })
    expect((await client.get<List>('/oauth/workouts', token)).body.workouts).toHaveLength(2)
    expect((await client.get('/oauth/workout/own0tempo0000001', token)).status).toBe(404)
  })

  it('have the fields of published captures and of the document, unless set otherwise', async () => {
    const first = async () => (await client.get<List>('/oauth/workout', token)).body.workouts[1] ?? {}
    const both = await first()
    expect(Object.keys(both).length).toBeGreaterThanOrEqual(25)
    expect(both).toMatchObject({
      last_modified: expect.any(Number),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      duration: '01:00:00',
      difficulty: expect.any(Number),
      description: 'Three times ten minutes.\r\nStay seated.',
      workout: null,
    })
    expect(both.sets).toContainEqual(
      expect.objectContaining({
        interval_count: '3',
        power: { type: 'relative_ftp', value: 98 },
        rib_duration: { type: 'absolute', value: '05:00' },
      }),
    )
    await client.steer('PATCH', 'settings', { workout_dialect: 'capture' })
    const { last_modified: _, ...rest } = both
    expect(await first()).toEqual(rest)
  })

  it('may have no name, and half watts in a definition, where the count is a number', async () => {
    const { workouts } = (await client.get<List>('/oauth/workouts', token)).body
    expect(workouts.map(({ name }) => name)).toContain(null)
    const sets: Set[] = []
    for (const path of ['own0tempo0000001', 'own0untitled0003', 'df0easyspin00001', 'df0threshold0002']) {
      sets.push(...(await client.get<Definition>(`/oauth/workout/${path}`, token)).body.workout)
    }
    expect(sets.filter(({ power }) => power % 1 === 0.5)).not.toEqual([])
    expect(sets.filter(({ interval_count }) => typeof interval_count !== 'number')).toEqual([])
  })
})

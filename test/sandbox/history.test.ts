import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Body, type ListEntry, listAll, openClient, type TestClient } from './client.ts'

// Published answers, value by value: the sandbox has to look like them.

type Sample = Record<string, number | string | null>
type Summary = Record<'xss' | 'xlss' | 'xhss' | 'xpss' | 'duration' | 'distance' | 'difficulty', number> & {
  session: Record<string, number | string>
  sig: Record<string, number>
  breakthrough: number | null
  start_date: ListEntry['start_date']
}
type Detail = { session_data: Sample[]; summary: Summary }

let client: TestClient
let token: string
let list: ListEntry[]
/** The details of the newest rides. */
let details: Detail[]
beforeAll(async () => {
  client = await openClient({ activities: 150, longestActivitySeconds: 1_200 })
  token = await client.signIn()
  list = await listAll(client, token)
  details = await Promise.all(list.slice(0, 40).map(({ path }) => detailOf(path)))
})
afterAll(() => client.sandbox.close())

async function detailOf(path: unknown, bearer = token): Promise<Detail> {
  return (await client.get<Detail>(`/oauth/activity/${path}?include_session_data=1`, bearer)).body
}

async function summaryOf(path: string): Promise<Summary> {
  return (await client.get<Detail>(`/oauth/activity/${path}`, token)).body.summary
}

async function textOf(path: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}` }
  return (await fetch(`${client.sandbox.url}${path}`, { headers })).text()
}

describe('the athlete', () => {
  it('has three years of rides and some runs up to yesterday, with odd names and missing descriptions', async () => {
    const truth = await client.steer('GET', 'activities')
    const own = (truth.body.activities as Array<{ rider: string; started_at: string }>).filter(
      ({ rider }) => rider === 'rider',
    )
    expect(own).toHaveLength(150)
    expect(own[0]?.started_at.slice(0, 10)).toBe('2026-03-11')
    expect(own[149]?.started_at.slice(0, 7)).toMatch(/^2023-0[3-5]$/)
    const fields = ['activity_type', 'description', 'name', 'path', 'start_date']
    for (const entry of list) expect(Object.keys(entry).sort()).toEqual(fields)
    expect(new Set(list.map(({ path }) => path)).size).toBe(150)
    for (const isThere of [
      ({ activity_type }: ListEntry) => activity_type === 'Running',
      ({ description }: ListEntry) => description === null,
      ({ name }: ListEntry) => /^\d+$/.test(name),
      ({ name }: ListEntry) => /[^\x20-\x7e]/.test(name),
    ])
      expect(list.some(isThere), String(isThere)).toBe(true)
    const second = await client.signIn('second')
    expect(await listAll(client, second)).toHaveLength(12)
    expect((await client.get(`/oauth/activity/${list[0]?.path}`, second)).status).toBe(404)
  })

  it('has a list that can be filtered by start and by update, both inclusive', async () => {
    const { body } = await client.steer('POST', 'activities', { started_at: '2020-02-02T10:00:00Z' })
    const start = Date.parse('2020-02-02T10:00:00Z') / 1_000
    const paths = async (from: number, to: number, more = '') => {
      const path = `/oauth/activity?from=${from}&to=${to}${more}`
      return (await client.get<{ activities: Array<{ path: string }> }>(path, token)).body.activities
    }
    expect(await paths(start, start)).toEqual([expect.objectContaining({ path: body.path })])
    expect(await paths(start + 1, start + 60)).toEqual([])
    expect(await paths(start - 60, start - 1)).toEqual([])
    const updated = Math.floor(Date.parse(String(body.updated_at)) / 1_000)
    expect(await paths(start, start, `&updated_from=${updated}`)).toHaveLength(1)
    expect(await paths(start, start, `&updated_from=${updated + 1}`)).toEqual([])
  })

  it('has training info with every field of the document', async () => {
    const loads = { low: expect.any(Number), high: expect.any(Number), peak: expect.any(Number) }
    const { body } = await client.get('/oauth/training_info', token)
    expect(body).toEqual({
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

  it('has workouts with the fields of captures and of the document, unless set otherwise', async () => {
    const first = async () =>
      (await client.get<{ workouts: Body[] }>('/oauth/workout', token)).body.workouts[1] ?? {}
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
})

describe('the dates', () => {
  it('are in UTC in list and details, and in three styles of time zone if set so', async () => {
    const some = list.slice(0, 60)
    for (const [index, { start_date }] of some.slice(0, details.length).entries()) {
      expect(start_date).toEqual(details[index]?.summary.start_date)
      expect(start_date).toMatchObject({ timezone_type: 3, timezone: 'UTC' })
      expect(start_date.date).toHaveLength(26)
    }
    for (const dates of ['detail', 'zone']) {
      await client.steer('PATCH', 'settings', { dates })
      const zones = new Map<number, string>()
      for (const { path, start_date } of (await listAll(client, token)).slice(0, 60)) {
        const told = (await summaryOf(path)).start_date
        zones.set(told.timezone_type, told.timezone)
        if (dates === 'zone') expect(start_date).toEqual(told)
        else expect(start_date.timezone).toBe('UTC')
        const truth = await client.steer('GET', `activities/${path}`)
        const wall = `${told.date.slice(0, 23).replace(' ', 'T')}${told.timezone}`
        if (told.timezone_type === 1) expect(new Date(wall).toISOString()).toBe(truth.body.started_at)
      }
      expect(zones.get(1)).toMatch(/^[+-]\d\d:\d\d$/)
      expect(zones.get(2)).toMatch(/^E[SD]T$/)
      expect(zones.get(3)).toMatch(/^(UTC|America\/Toronto)$/)
    }
    await client.steer('PATCH', 'settings', { dates: 'utc' })
  })
})

describe('an activity', () => {
  it('has a summary that equals the sums of its samples', () => {
    for (const { session_data: samples, summary } of details) {
      const power = samples.map((sample) => Number(sample.power))
      const last = samples.at(-1)
      expect(summary.duration).toBe(samples.length - 2)
      expect(Number(summary.session.max_power)).toBeCloseTo(Math.max(...power), 9)
      const mean = power.reduce((sum, watts) => sum + watts, 0) / power.length
      expect(Number(summary.session.avg_power)).toBeCloseTo(mean, 6)
      expect(summary.distance).toBeCloseTo(Number(last?.dist) / 1_000, 9)
      expect(last?.tws).toBe(summary.xss)
      expect(summary.xss).toBeCloseTo(summary.xlss + summary.xhss + summary.xpss, 9)
      expect(summary.difficulty).toBe(Math.max(0, ...samples.map(({ xds }) => Number(xds))))
    }
  })

  it('has the oddities of real answers: nulls, rides without GPS, and numbers as texts on request', async () => {
    const oddities = ({ session_data: samples }: Detail) =>
      samples.flatMap((sample) =>
        Object.entries(sample).map(([field, value]) =>
          value === null ? `${field} null` : typeof value === 'string' ? `${field} text` : field,
        ),
      )
    const seen = new Set(details.flatMap(oddities))
    for (const wanted of ['cad null', 'hr null', 'tgt null', 'lat null', 'p_raw', 'lws', 't_scaled'])
      expect(seen).toContain(wanted)
    expect([...seen].filter((one) => one.endsWith(' text'))).toEqual(['proximity text'])
    await client.steer('PATCH', 'settings', { number_texts: true })
    const texts = new Set(oddities(await detailOf(list[0]?.path)))
    for (const wanted of ['power text', 'dist text']) expect(texts).toContain(wanted)
    await client.steer('PATCH', 'settings', { number_texts: false })
    const breakthroughs = await Promise.all(
      list.map(async ({ path }) => (await summaryOf(path)).breakthrough),
    )
    expect(new Set(breakthroughs)).toEqual(new Set([1, 0, -1, null]))
  })

  it('is JSON with PHP escapes that parses to the same value', async () => {
    const name = `a/b "c" \\ é 河 🚀 <i> & 'x'\u0007\n`
    const { body } = await client.steer<{ path: string }>('POST', 'activities', { name, seconds: 60 })
    const answer = await textOf(`/oauth/activity/${body.path}`)
    expect(answer).toContain(
      String.raw`"a\/b \u0022c\u0022 \\ \u00e9 \u6cb3 \ud83d\ude80 \u003Ci\u003E \u0026 \u0027x\u0027\u0007\n"`,
    )
    expect(answer).toMatch(/^[\x20-\x7e]*$/)
    expect(JSON.parse(answer).name).toBe(name)
  })
})

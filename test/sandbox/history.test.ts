import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ListEntry, listAll, openClient, type TestClient } from './client.ts'

let client: TestClient
let token: string
let list: ListEntry[]
beforeAll(async () => {
  client = await openClient({ activities: 150 })
  token = await client.signIn()
  list = await listAll(client, token)
})
afterAll(() => client.sandbox.close())

type Sample = Record<string, number | string | null>
type Summary = Record<'xss' | 'xlss' | 'xhss' | 'xpss' | 'duration' | 'distance', number> & {
  session: Record<string, number | string>
  sig: { ftp: number }
  start_date: ListEntry['start_date']
}
type Detail = { session_data: Sample[]; summary: Summary }

async function detailOf(path: string): Promise<Detail> {
  return (await client.get<Detail>(`/oauth/activity/${path}?include_session_data=1`, token)).body
}

describe('the athlete', () => {
  it('has about three years of rides and some runs that end yesterday', async () => {
    const truth = await client.steer('GET', 'activities')
    const own = (truth.body.activities as Array<{ rider: string; started_at: string; sample_count: number }>)
      .filter(({ rider }) => rider === 'rider')
      .map((activity) => ({ ...activity, ms: Date.parse(activity.started_at) }))
    expect(own).toHaveLength(150)
    expect(own[0]?.started_at.slice(0, 10)).toBe('2026-03-11')
    const days = ((own[0]?.ms ?? 0) - (own[149]?.ms ?? 0)) / 86_400_000
    expect(days).toBeGreaterThan(1_050)
    expect(days).toBeLessThan(1_110)
    const seconds = own.map((activity) => activity.sample_count).sort((a, b) => a - b)
    expect(seconds[0]).toBeGreaterThanOrEqual(1_200)
    expect(seconds[149]).toBeLessThanOrEqual(10_800)
    expect(seconds[75]).toBeGreaterThan(2_400)
    expect(seconds[75]).toBeLessThan(3_900)
    expect(new Set(list.map(({ activity_type }) => activity_type))).toContain('Running')
  })

  it('is listed with the fields of the document, odd names and missing descriptions', () => {
    const fields = ['activity_type', 'description', 'name', 'path', 'start_date']
    for (const entry of list) expect(Object.keys(entry).sort()).toEqual(fields)
    expect(new Set(list.map(({ path }) => path)).size).toBe(150)
    expect(list.some(({ description }) => description === null)).toBe(true)
    expect(list.some(({ name }) => /^\d+$/.test(name))).toBe(true)
    expect(list.some(({ name }) => /[^\x20-\x7e]/.test(name))).toBe(true)
  })

  it('starts in all three styles of time zone, with its wall clock, when set to send zones', async () => {
    await client.steer('PATCH', 'settings', { dates: 'detail' })
    const details = await Promise.all(
      list.map(async ({ path }) => {
        const { body } = await client.get<Detail>(`/oauth/activity/${path}`, token)
        return { path, start_date: body.summary.start_date }
      }),
    )
    const ofStyle = (style: number) => details.filter(({ start_date }) => start_date.timezone_type === style)
    const zone = (style: number) => ofStyle(style)[0]?.start_date.timezone
    expect(zone(1)).toMatch(/^[+-]\d\d:\d\d$/)
    expect(zone(2)).toMatch(/^E[SD]T$/)
    expect(zone(3)).toMatch(/^(UTC|America\/Toronto)$/)
    for (const entry of ofStyle(1)) {
      const { date, timezone } = entry.start_date
      const truth = await client.steer('GET', `activities/${entry.path}`)
      const wall = Date.parse(`${date.slice(0, 23).replace(' ', 'T')}${timezone}`)
      expect(new Date(wall).toISOString()).toBe(truth.body.started_at)
    }
    await client.steer('PATCH', 'settings', { dates: 'utc' })
  })

  it('is the same for the same seed and day, and differs for another seed', async () => {
    const twin = await openClient({ activities: 150 })
    const other = await openClient({ activities: 150, seed: 2 })
    try {
      const twinToken = await twin.signIn()
      expect(await listAll(twin, twinToken)).toEqual(list)
      const path = list[3]?.path ?? ''
      const address = `/oauth/activity/${path}?include_session_data=1`
      expect((await twin.get(address, twinToken)).body).toEqual((await client.get(address, token)).body)
      const strange = await listAll(other, await other.signIn())
      expect(strange.map((entry) => entry.path)).not.toContain(path)
    } finally {
      await Promise.all([twin.sandbox.close(), other.sandbox.close()])
    }
  })

  it('has a second rider with a small history', async () => {
    const second = await client.signIn('second')
    const own = await listAll(client, second)
    expect(own.length).toBe(12)
    expect((await client.get(`/oauth/activity/${list[0]?.path}`, second)).status).toBe(404)
  })
})

describe('an activity', () => {
  it('has a summary that equals the sums of its samples', async () => {
    for (const { path } of list.slice(0, 12)) {
      const { session_data: samples, summary } = await detailOf(path)
      const power = samples.map((sample) => Number(sample.power))
      const last = samples.at(-1)
      expect(summary.duration).toBe(samples.length - 2)
      expect(Number(summary.session.max_power)).toBeCloseTo(Math.max(...power), 9)
      const mean = power.reduce((sum, watts) => sum + watts, 0) / power.length
      expect(Number(summary.session.avg_power)).toBeCloseTo(mean, 6)
      expect(summary.distance).toBeCloseTo(Number(last?.dist) / 1_000, 9)
      expect(last?.tws).toBe(summary.xss)
      expect(summary.xss).toBeCloseTo(summary.xlss + summary.xhss + summary.xpss, 9)
    }
  })

  it('has ascending seconds, rare pauses, and a total load that never falls', async () => {
    const longest: number[] = []
    for (const { path } of list.slice(0, 30)) {
      const { session_data: samples } = await detailOf(path)
      const steps = samples
        .slice(1)
        .map((sample, i) => Number(sample.unix_time) - Number(samples[i]?.unix_time))
      const falls = samples.slice(1).filter((sample, i) => Number(sample.tws) < Number(samples[i]?.tws))
      expect(falls).toEqual([])
      expect(Math.min(...steps)).toBe(1_000)
      longest.push(Math.max(...steps))
    }
    const whole = longest.filter((step) => step === 1_000)
    expect(whole.length).toBeGreaterThan(20)
    expect(Math.max(...longest)).toBeGreaterThan(10_000)
  })

  it('has available power that falls above threshold, recovers below, and stays over threshold', async () => {
    const hard = await client.steer('POST', 'activities', { kind: 'intervals', seconds: 3_600 })
    const { session_data: samples, summary } = await detailOf(String(hard.body.path))
    const { ftp } = summary.sig
    const mpa = samples.map((sample) => Number(sample.mpa))
    expect(Math.min(...mpa)).toBeGreaterThanOrEqual(ftp)
    expect(Math.min(...mpa)).toBeLessThan(0.95 * Math.max(...mpa))
    let wrong = 0
    for (const [i, sample] of samples.entries()) {
      const paused = Number(sample.unix_time) - Number(samples[i - 1]?.unix_time) > 1_000
      const change = (mpa[i] ?? 0) - (mpa[i - 1] ?? mpa[i] ?? 0)
      if (paused) continue
      if (Number(sample.power) > ftp ? change > 0 : change < 0) wrong++
    }
    expect(wrong).toBe(0)
  })

  it('has the oddities of real answers: nulls, many digits, rides without GPS', async () => {
    const seen = new Set<string>()
    for (const { path } of list.slice(0, 60)) {
      const { session_data: samples } = await detailOf(path)
      for (const sample of samples.filter((_, i) => i % 10 === 0)) {
        for (const [field, value] of Object.entries(sample)) {
          if (value === null) seen.add(`${field} null`)
          if (typeof value === 'string') seen.add(`${field} text`)
          if (String(value).replace(/\D/g, '').length >= 15) seen.add('digits')
        }
        for (const field of ['p_raw', 'lws', 't_scaled', 'proximity']) if (field in sample) seen.add(field)
      }
    }
    const wanted = [
      'cad null',
      'hr null',
      'tgt null',
      'lat null',
      'digits',
      'p_raw',
      'lws',
      't_scaled',
      'proximity',
    ]
    expect([...seen]).toEqual(expect.arrayContaining(wanted))
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ListEntry, listAll, openClient, type TestClient } from './client.ts'

// Answers that were published, value by value: the sandbox has to look like them.

type Sample = Record<string, number | string | null>
type Summary = Record<string, unknown> & { duration: number; difficulty: number; sig: Record<string, number> }
type Detail = { session_data: Sample[]; summary: Summary }

let client: TestClient
let token: string
let list: ListEntry[]
let details: Detail[]
beforeAll(async () => {
  client = await openClient({ activities: 60, longestActivitySeconds: 900 })
  token = await client.signIn()
  list = await listAll(client, token)
  details = await Promise.all(list.map(({ path }) => detailOf(path)))
})
afterAll(() => client.sandbox.close())

async function detailOf(path: string): Promise<Detail> {
  return (await client.get<Detail>(`/oauth/activity/${path}?include_session_data=1`, token)).body
}

async function textOf(path: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}` }
  return (await fetch(`${client.sandbox.url}${path}`, { headers })).text()
}

const digitsOf = (value: unknown) =>
  String(value)
    .replace(/^-|e.*$|\./g, '')
    .replace(/^0+/, '').length

describe('the samples of an activity', () => {
  it('have all fields of recorded exports each second, as numbers', () => {
    for (const { session_data: samples } of details) {
      for (const sample of samples.filter((_, i) => i % 60 === 0)) {
        for (const field of ['time', 'power', 'mpa', 'wexp', 'xssr', 'mm', 'mmp0s', 'tws', 'xds']) {
          expect([field, typeof sample[field]]).toEqual([field, 'number'])
        }
      }
    }
  })

  it('count the seconds from the start in time', () => {
    for (const { session_data: samples } of details) {
      const startMs = Number(samples[0]?.unix_time)
      const wrong = samples.filter(({ time, unix_time }) => time !== (Number(unix_time) - startMs) / 1_000)
      expect(wrong).toEqual([])
    }
  })

  it('have no text in place of a number, unless the setting asks for some', async () => {
    const textsIn = ({ session_data: samples }: Detail) =>
      new Set(
        samples.flatMap((sample) => Object.keys(sample).filter((key) => typeof sample[key] === 'string')),
      )
    for (const detail of details)
      expect([...textsIn(detail)].filter((key) => key !== 'proximity')).toEqual([])
    await client.steer('PATCH', 'settings', { number_texts: true })
    expect([...textsIn(await detailOf(list[0]?.path ?? ''))]).toEqual(
      expect.arrayContaining(['power', 'dist']),
    )
    await client.steer('PATCH', 'settings', { number_texts: false })
  })

  it('are two more than the duration in seconds', () => {
    for (const { session_data: samples, summary } of details)
      expect(samples.length - summary.duration).toBe(2)
  })

  it('have about the size of recorded ones: a few hundred bytes a second', async () => {
    const bytes = await Promise.all(
      list.map(async ({ path }) => (await textOf(`/oauth/activity/${path}?include_session_data=1`)).length),
    )
    const seconds = details.reduce((sum, { session_data: samples }) => sum + samples.length, 0)
    const each = bytes.reduce((sum, length) => sum + length, 0) / seconds
    expect(each).toBeGreaterThan(350)
    expect(each).toBeLessThan(550)
  })
})

describe('the numbers of an activity', () => {
  it('have all digits of a double in its shortest form', () => {
    for (const field of ['mpa', 'wexp', 'xssr', 'tws', 'xds']) {
      const digits = details.flatMap(({ session_data: samples }) =>
        samples.slice(50, 400).map((s) => digitsOf(s[field])),
      )
      expect([field, Math.max(...digits) >= 16]).toEqual([field, true])
    }
    for (const field of ['xss', 'xlss', 'difficulty']) {
      expect([field, Math.max(...details.map(({ summary }) => digitsOf(summary[field])))]).toEqual([
        field,
        17,
      ])
    }
  })

  it('have ten decimals in the threshold power of a signature, and none in the peak power', () => {
    const decimals = (value: unknown) => (String(value).split('.')[1] ?? '').length
    const ofFtp = details.map(({ summary }) => decimals(summary.sig.ftp))
    expect(Math.max(...ofFtp)).toBe(10)
    for (const { summary } of details) expect(decimals(summary.sig.pp)).toBe(0)
  })

  it('have the greatest xds as the difficulty', () => {
    for (const { session_data: samples, summary } of details) {
      expect(summary.difficulty).toBe(samples.reduce((most, { xds }) => Math.max(most, Number(xds)), 0))
    }
  })

  it('have -1 or null for some breakthroughs', async () => {
    const many = await openClient({ activities: 150, longestActivitySeconds: 900 })
    const bearer = await many.signIn()
    const values = await Promise.all(
      (await listAll(many, bearer)).map(
        async ({ path }) =>
          (await many.get<Detail>(`/oauth/activity/${path}`, bearer)).body.summary.breakthrough,
      ),
    )
    await many.sandbox.close()
    expect(new Set(values)).toEqual(new Set([1, 0, -1, null]))
  })
})

describe('the dates of the list', () => {
  it('are in UTC, as in the details, unless set otherwise', async () => {
    for (const { path, start_date } of await listAll(client, token)) {
      const truth = await client.steer('GET', `activities/${path}`)
      expect(start_date).toMatchObject({ timezone_type: 3, timezone: 'UTC' })
      const moment = new Date(`${start_date.date.replace(' ', 'T').slice(0, 23)}Z`)
      expect([start_date.date.length, moment.toISOString()]).toEqual([26, truth.body.started_at])
    }
    const listed = await listAll(client, token)
    expect(listed.map(({ start_date }) => start_date)).toEqual(
      details.map(({ summary }) => summary.start_date),
    )
    for (const dates of ['detail', 'zone']) {
      await client.steer('PATCH', 'settings', { dates })
      const zones = new Set<unknown>()
      for (const { path, start_date } of await listAll(client, token)) {
        const { body } = await client.get<Detail>(`/oauth/activity/${path}`, token)
        const told = body.summary.start_date as { timezone: string }
        zones.add(told.timezone)
        if (dates === 'zone') expect(start_date).toEqual(told)
        else expect(start_date.timezone).toBe('UTC')
      }
      expect(zones.size).toBeGreaterThan(3)
    }
    await client.steer('PATCH', 'settings', { dates: 'utc' })
  })

  it('of a rider fit the home: outdoor rides begin there, at usual hours of its time zone', async () => {
    const body = { username: 'nomad', password: 'nomad', activities: 12, seed: 3, home: 'Asia/Kathmandu' }
    await client.steer('POST', 'riders', body)
    const nomad = await client.signIn('nomad')
    for (const { path, start_date } of await listAll(client, nomad)) {
      const hour = (Number(start_date.date.slice(11, 13)) + 5.75) % 24
      expect(hour).toBeGreaterThanOrEqual(4)
      const { session_data: samples } = (
        await client.get<Detail>(`/oauth/activity/${path}?include_session_data=1`, nomad)
      ).body
      const [first] = samples.filter(({ lat }) => lat !== null)
      if (first) expect([Math.round(Number(first.lat)), Math.round(Number(first.lng))]).toEqual([28, 85])
    }
  })
})

describe('JSON', () => {
  it('is escaped as PHP does it, and reads back the same', async () => {
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

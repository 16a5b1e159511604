import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readFitTrack } from '../../src/sandbox/api/upload-answer.ts'
import { makeFitFile } from '../../src/sandbox/fit-file.ts'
import { readWithSdk } from '../core/fit/sdk-reader.ts'
import { FILE_ID_ACTIVITY, littleEndian, T0, wrap } from '../core/fit/wrap.ts'
import { listAll, openClient, type TestClient } from './client.ts'

let client: TestClient
let token: string
beforeEach(async () => {
  client = await openClient({ activities: 3, sampleDelayMs: 2_000 })
  token = await client.signIn()
})
afterEach(() => client.sandbox.close())

const startedAt = new Date('2026-03-12T06:30:00Z')
const fit = makeFitFile({ startedAt, seconds: 900 })

type Upload = { success: boolean; json: { files: Array<Record<string, string | number>> } }
type Detail = {
  success: boolean
  summary: Record<string, unknown>
  session_data: Array<Record<string, number>>
}

async function upload(bytes: Uint8Array = fit, input = {}): Promise<{ path: string; body: Upload }> {
  const { body } = await client.upload(token, bytes, input)
  const answer = body as Upload
  return { path: String(answer.json?.files[0]?.url).split('/').at(-1) ?? '', body: answer }
}

/** Uploads a file and returns its samples: seconds since the start, watts. */
async function samplesOf(bytes: Uint8Array): Promise<Array<[number, number]>> {
  const { path, body } = await upload(bytes, { fileName: 'odd.fit' })
  expect(body.success).toBe(true)
  client.clock.turn(2_000)
  const { session_data: samples } = await detail(path)
  expect(samples[0]?.unix_time).toBe((T0 + 631_065_600) * 1_000)
  return samples.map(({ time = -1, p_raw = -1 }) => [time, p_raw])
}

const detail = (path: string) =>
  client.get<Detail>(`/oauth/activity/${path}?include_session_data=1`, token).then(({ body }) => body)

describe('an upload', () => {
  it('is an activity at once, with samples after the delay', async () => {
    const { path, body } = await upload(fit, { fileName: 'morning.fit' })
    expect(body.success).toBe(true)
    expect(body.json.files[0]).toEqual({
      name: 'morning.fit',
      size: fit.length,
      type: expect.any(String),
      url: expect.stringMatching(new RegExp(`/${path}$`)),
      deleteType: 'DELETE',
      deleteUrl: expect.any(String),
    })
    const listed = (await listAll(client, token)).find((entry) => entry.path === path)
    expect(listed).toMatchObject({ name: 'morning.fit', activity_type: 'Cycling' })
    const young = await detail(path)
    expect(young.session_data).toEqual([])
    // PHP writes an empty object as a list.
    expect(young.summary).toEqual({
      activity_type: 'Cycling',
      start_date: listed?.start_date,
      session: [],
      progression: [],
    })
    client.clock.turn(2_000)
    const ready = await detail(path)
    expect(ready.session_data).toHaveLength(900)
    expect(ready.session_data[0]?.unix_time).toBe(startedAt.getTime())
    expect(ready.summary.duration).toBe(898)
  })

  it('has the name that was sent', async () => {
    const { path } = await upload(fit, { name: 'Größe ☕' })
    expect((await listAll(client, token)).find((entry) => entry.path === path)?.name).toBe('Größe ☕')
  })

  it('counts towards the training load', async () => {
    const load = async () =>
      (await client.get<{ tl: { total: number } }>('/oauth/training_info', token)).body.tl.total
    const before = await load()
    await upload()
    expect(await load()).toBeGreaterThan(before)
  })

  it('is refused when it is not a whole FIT activity', async () => {
    const bad = [
      new Uint8Array(0),
      Buffer.from('hello'),
      fit.subarray(0, 5_000),
      fit.map((x, i) => (i === 999 ? ~x : x)),
    ]
    for (const bytes of bad) expect((await upload(bytes)).body.success).toBe(false)
    expect(await listAll(client, token)).toHaveLength(3)
    const counts = await client.steer('GET', 'counts')
    expect(counts.body.uploads).toEqual({ accepted: 0, refused: bad.length })
  })

  it('of the same bytes again becomes a twin that vanishes later', async () => {
    const first = await upload()
    const twin = await upload()
    expect(twin.path).not.toBe(first.path)
    expect(await listAll(client, token)).toHaveLength(5)
    client.clock.turn(2_000)
    const left = (await listAll(client, token)).map(({ path }) => path)
    expect(left).toContain(first.path)
    expect(left).not.toContain(twin.path)
  })

  it('of the same bytes again is refused, or answered with the same path, as set', async () => {
    const first = await upload()
    await client.steer('PATCH', 'settings', { duplicate_uploads: 'refuse' })
    expect((await upload()).body.success).toBe(false)
    await client.steer('PATCH', 'settings', { duplicate_uploads: 'same-path' })
    expect((await upload()).path).toBe(first.path)
    expect(await listAll(client, token)).toHaveLength(4)
  })

  it('is accepted with its times in compressed headers', async () => {
    const full = [0x42, 0, 0, 20, 0, 2, 253, 4, 0x86, 7, 2, 0x84, 0x02, ...littleEndian(T0), 250, 0]
    const short = [0x41, 0, 0, 20, 0, 1, 7, 2, 0x84]
    const at = (seconds: number, watts: number) => [0xa0 | ((T0 + seconds) & 0x1f), watts, 0]
    const file = wrap([...FILE_ID_ACTIVITY, ...full, ...short, ...at(1, 251), ...at(2, 252), ...at(33, 253)])
    expect(await samplesOf(file)).toEqual([
      [0, 250],
      [1, 251],
      [2, 252],
      [33, 253],
    ])
  })

  it('is accepted with records without a time: each is a second after the one before', async () => {
    const session = [0x43, 0, 0, 18, 0, 2, 2, 4, 0x86, 5, 1, 0x00, 0x03, ...littleEndian(T0), 2]
    const records = [0x41, 0, 0, 20, 0, 1, 7, 2, 0x84, ...[1, 240, 0], ...[1, 241, 0], ...[1, 242, 0]]
    expect(await samplesOf(wrap([...FILE_ID_ACTIVITY, ...session, ...records]))).toEqual([
      [0, 240],
      [1, 241],
      [2, 242],
    ])
  })

  it('is one activity when it has the sports of a triathlon', async () => {
    const session = (startS: number, sport: number) => [0x03, ...littleEndian(T0 + startS), sport]
    const sports = [
      0x43,
      0,
      0,
      18,
      0,
      2,
      2,
      4,
      0x86,
      5,
      1,
      0x00,
      ...session(0, 5),
      ...session(3, 2),
      ...session(6, 1),
    ]
    const record = (seconds: number) => [2, ...littleEndian(T0 + seconds), 100 + seconds, 0]
    const records = [0x42, 0, 0, 20, 0, 2, 253, 4, 0x86, 7, 2, 0x84, ...[7, 4, 0].flatMap(record)]
    const file = wrap([...FILE_ID_ACTIVITY, ...records, ...sports])
    expect(await samplesOf(file)).toEqual([
      [0, 100],
      [4, 104],
      [7, 107],
    ])
    expect((await listAll(client, token)).find(({ name }) => name === 'odd.fit')?.activity_type).toBe(
      'Multisport',
    )
  })

  const folder = new URL('../../../shared/fit/', import.meta.url)
  const real = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.fit')) : []
  for (const name of real) {
    const whole = !/^(bad|other)-/.test(name)
    it(`of the real file ${name} is ${whole ? 'taken' : 'refused'}`, async () => {
      const { path, body } = await upload(readFileSync(new URL(name, folder)), { fileName: name })
      expect(body.success).toBe(whole)
      expect(await listAll(client, token)).toHaveLength(whole ? 4 : 3)
      if (!whole) return
      client.clock.turn(2_000)
      expect((await detail(path)).session_data.length).toBeGreaterThan(10)
    })
  }

  for (const name of real.filter((file) => !/^(bad|other)-/.test(file))) {
    it(`of the real file ${name} has the records that @garmin/fitsdk reads`, () => {
      const bytes = readFileSync(new URL(name, folder))
      const { records, startedAt: start = new Date(0) } = readWithSdk(bytes)
      const track = readFitTrack(bytes, start)
      const columns = {
        power: 'power',
        hr: 'hr',
        cad: 'cad',
        alt: 'altitude',
        spd: 'speed',
        dist: 'distance',
      } as const
      expect([...track.unixMs]).toEqual(records.map(({ timeMs }) => timeMs))
      for (const [column, field] of Object.entries(columns) as Array<
        [keyof typeof columns, (typeof columns)[keyof typeof columns]]
      >) {
        const own = [...track[column]].map((value) => (Number.isNaN(value) ? null : value))
        expect([column, own]).toEqual([column, records.map((record) => record[field])])
      }
    })
  }
})

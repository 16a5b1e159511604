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

  const at = (seconds: number) => littleEndian(T0 + seconds)
  it.each<[what: string, messages: number[], samples: Array<[seconds: number, watts: number]>, type: string]>(
    [
      [
        'its times in compressed headers',
        [
          ...[0x42, 0, 0, 20, 0, 2, 253, 4, 0x86, 7, 2, 0x84, 0x02, ...at(0), 250, 0],
          ...[0x41, 0, 0, 20, 0, 1, 7, 2, 0x84],
          ...[1, 2, 33].flatMap((seconds, n) => [0xa0 | ((T0 + seconds) & 0x1f), 251 + n, 0]),
        ],
        [
          [0, 250],
          [1, 251],
          [2, 252],
          [33, 253],
        ],
        'Cycling',
      ],
      [
        'records without a time: each is a second after the one before',
        [
          ...[0x43, 0, 0, 18, 0, 2, 2, 4, 0x86, 5, 1, 0x00, 0x03, ...at(0), 2],
          ...[0x41, 0, 0, 20, 0, 1, 7, 2, 0x84, ...[1, 240, 0], ...[1, 241, 0], ...[1, 242, 0]],
        ],
        [
          [0, 240],
          [1, 241],
          [2, 242],
        ],
        'Cycling',
      ],
      [
        'the sports of a triathlon, as one activity',
        [
          ...[0x42, 0, 0, 20, 0, 2, 253, 4, 0x86, 7, 2, 0x84],
          ...[7, 4, 0].flatMap((seconds) => [2, ...at(seconds), 100 + seconds, 0]),
          ...[0x43, 0, 0, 18, 0, 2, 2, 4, 0x86, 5, 1, 0x00],
          ...[0x03, ...at(0), 5, 0x03, ...at(3), 2, 0x03, ...at(6), 1],
        ],
        [
          [0, 100],
          [4, 104],
          [7, 107],
        ],
        'Multisport',
      ],
    ],
  )('is accepted with %s', async (_what, messages, samples, type) => {
    expect(await samplesOf(wrap([...FILE_ID_ACTIVITY, ...messages]))).toEqual(samples)
    expect((await listAll(client, token)).find(({ name }) => name === 'odd.fit')?.activity_type).toBe(type)
  })

  const folder = new URL('../../../shared/fit/', import.meta.url)
  const real = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.fit')) : []
  const whole = real.filter((name) => !/^(bad|other)-/.test(name))
  it.each(real)(
    'of the real file %s is taken, or refused when its name begins with bad or other',
    async (name) => {
      const isWhole = whole.includes(name)
      const { path, body } = await upload(readFileSync(new URL(name, folder)), { fileName: name })
      expect(body.success).toBe(isWhole)
      expect(await listAll(client, token)).toHaveLength(isWhole ? 4 : 3)
      if (!isWhole) return
      client.clock.turn(2_000)
      expect((await detail(path)).session_data.length).toBeGreaterThan(10)
    },
  )

  it.each(whole)('of the real file %s has the records that @garmin/fitsdk reads', (name) => {
    const bytes = readFileSync(new URL(name, folder))
    const { records, startedAt: start = new Date(0) } = readWithSdk(bytes)
    const track = readFitTrack(bytes, start)
    expect([...track.unixMs]).toEqual(records.map(({ timeMs }) => timeMs))
    for (const [column, field] of [
      ['power', 'power'],
      ['hr', 'hr'],
      ['cad', 'cad'],
      ['alt', 'altitude'],
      ['spd', 'speed'],
      ['dist', 'distance'],
    ] as const) {
      const own = [...track[column]].map((value) => (Number.isNaN(value) ? null : value))
      expect([column, own]).toEqual([column, records.map((record) => record[field])])
    }
  })
})

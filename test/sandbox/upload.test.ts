import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeFitFile } from '../../src/sandbox/fit-file.ts'
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

const detail = (path: string) =>
  client.get<Detail>(`/oauth/activity/${path}?include_session_data=1`, token).then(({ body }) => body)

describe('an upload', () => {
  it('becomes an activity at once and gets its samples after the delay', async () => {
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

  it('is refused if it is not a complete FIT activity', async () => {
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

  it('is accepted with compressed timestamps in its record headers', async () => {
    const bytes = wrap([
      ...FILE_ID_ACTIVITY,
      ...[0x42, 0, 0, 20, 0, 2, 253, 4, 0x86, 7, 2, 0x84, 0x02, ...littleEndian(T0), 250, 0],
      ...[0x41, 0, 0, 20, 0, 1, 7, 2, 0x84],
      ...[1, 2, 33].flatMap((seconds, n) => [0xa0 | ((T0 + seconds) & 0x1f), 251 + n, 0]),
    ])
    const { path } = await upload(bytes)
    client.clock.turn(2_000)
    const { session_data: samples } = await detail(path)
    expect(samples[0]?.unix_time).toBe((T0 + 631_065_600) * 1_000)
    const expected = [0, 1, 2, 33].map((time, n) => ({ time, p_raw: 250 + n }))
    expect(samples).toMatchObject(expected)
  })
})

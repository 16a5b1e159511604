import { decompress } from '@bokuweb/zstd-wasm'
import { parquetReadObjects } from 'hyparquet'
import { beforeAll, describe, expect, it } from 'vitest'
import { replaceSampleExtras } from '../../../src/core/store/samples/content.ts'
import { SAMPLE_FIELDS } from '../../../src/core/store/samples/encode-samples.ts'
import { exportActivity } from '../../../src/features/export/export-activity.ts'
import type { ExportFormat } from '../../../src/features/export/export-formats.ts'
import { findExportedActivity, findSampleLines } from '../../../src/features/export/rows/export-rows.ts'
import { type Rig, useRig } from '../../core/mirror/rig.ts'
import { fetchTruth } from '../../core/mirror/truth.ts'
import { replaceSamples } from '../../core/store/detail.ts'
import { makeExtra, makeSamples } from '../../kit/samples.ts'

type Exported = {
  activity: Record<string, unknown>
  samples: Array<Record<string, unknown> & { extras?: unknown }>
}

const HEADER = 'activity_id,path,t,power,mpa,cad,alt,hr,spd,tgt,lat,lng,dist,tws,xds,p_raw,lws,hws,pws'
const KNOWN: ReadonlySet<string> = new Set(['unix_time', ...SAMPLE_FIELDS])

describe('an exported activity', () => {
  const rig = useRig({ activities: 6 })
  beforeAll(() => rig.sync())

  const bytesOf = async (path: string, format: ExportFormat, signal = new AbortController().signal) => {
    const pieces: Buffer[] = []
    const write = async (piece: string | Uint8Array) => void pieces.push(Buffer.from(piece as string))
    const why = await exportActivity(rig.app, { name: 'default', path, format, write, signal })
    return { why, bytes: Buffer.concat(pieces) }
  }
  const textOf = async (path: string, format: ExportFormat) => (await bytesOf(path, format)).bytes.toString()
  const rowsOf = async (path: string) => {
    const { bytes } = await bytesOf(path, 'parquet')
    const file = new Uint8Array(bytes).buffer
    return parquetReadObjects({ file, compressors: { ZSTD: (input) => decompress(input) } })
  }
  const idOf = async (path: string) => {
    const text = 'select activity_id from training.activities where path = $1'
    return Number((await rig.rows(text, [path]))[0]?.activity_id)
  }
  const jsonOf = async (path: string): Promise<Exported> => JSON.parse(await textOf(path, 'json'))

  it('has all samples in each format, with full digits, NULL and fields without a column', async () => {
    let extras = 0
    for (const { path, started_at, detail } of await fetchTruth(rig.sandboxUrl)) {
      const id = await idOf(path)
      const sent = detail.session_data.map(fromWire)
      const strange = new Set(detail.session_data.flatMap(Object.keys).filter((field) => !KNOWN.has(field)))
      const sentExtras = detail.session_data.map((sample) => extrasOf(sample, strange))
      extras += strange.size

      const [header, ...lines] = (await textOf(path, 'csv')).split('\n')
      expect([header, lines.pop()]).toEqual([HEADER, ''])
      expect(lines.filter((line) => !line.startsWith(`${id},${path},`))).toEqual([])
      expect(lines.map(fromCsv)).toEqual(sent)

      const { activity, samples } = await jsonOf(path)
      const { name, summary } = detail
      expect(activity).toMatchObject({ activity_id: id, path, name, summary: { xss: summary.xss } })
      expect([activity.sample_count, new Date(`${activity.started_at}`)]).toEqual([
        sent.length,
        new Date(started_at),
      ])
      expect(samples.map(fromExport)).toEqual(sent)
      expect(samples.map((sample) => sample.extras ?? {})).toEqual(sentExtras)

      const rows = await rowsOf(path)
      expect(Object.keys(rows[0] ?? {})).toEqual([...HEADER.split(','), 'extras'])
      expect(rows.filter((row) => row.activity_id !== id || row.path !== path)).toEqual([])
      expect(rows.map((row) => fromExport({ ...row, t: (row.t as Date).toISOString() }))).toEqual(sent)
      const parsed = rows.map((row) => JSON.parse(String(row.extras ?? '{}')))
      expect(parsed).toEqual(sentExtras.map(withoutNulls))
    }
    expect(extras).toBeGreaterThan(1)
  })

  it('keeps quotes in paths, infinities, fine or missing times, and equal times', async () => {
    const path = await makeRareRide(rig, 'a "b", c')
    const [, ...lines] = (await textOf(path, 'csv')).trimEnd().split('\n')
    const before = `${await idOf(path)},"a ""b"", c",`
    const ends = [
      ',Infinity',
      '2024-05-01T06:00:01.000250Z,1',
      '2024-05-01T06:00:02.000Z,-2.5',
      '2024-05-01T06:00:02.000Z,',
    ]
    expect(ends.filter((end, index) => !lines[index]?.startsWith(`${before}${end},`))).toEqual([])
    const { samples } = await jsonOf(path)
    expect(samples.map(({ t, power, extras }) => ({ t, power, extras }))).toEqual([
      { t: null, power: 'Infinity', extras: { note: 'a "b"\n\\c', t: 1 } },
      { t: '2024-05-01T06:00:01.000250Z', power: 1, extras: { note: null, t: 1.1 } },
      { t: '2024-05-01T06:00:02.000Z', power: -2.5, extras: { note: ['x'], t: 1e-7 } },
      { t: '2024-05-01T06:00:02.000Z', power: null, extras: { note: 'last', t: -0.5 } },
    ])
    const rows = await rowsOf(path)
    expect(rows.map(({ t, power, extras }) => [t, power, JSON.parse(String(extras))])).toEqual([
      [null, Number.POSITIVE_INFINITY, { note: 'a "b"\n\\c', t: 1 }],
      [new Date('2024-05-01T06:00:01.000Z'), 1, { t: 1.1 }],
      [new Date('2024-05-01T06:00:02.000Z'), -2.5, { note: ['x'], t: 1e-7 }],
      [new Date('2024-05-01T06:00:02.000Z'), null, { note: 'last', t: -0.5 }],
    ])
    // The extra fields of two samples at one time stay apart even after rows move.
    await rig.sql`update training.samples set power = power where t = '2024-05-01T06:00:02Z' and power is not null`
    expect((await jsonOf(path)).samples).toEqual(samples)
  })

  it('waits for its reader despite the timeout of idle transactions', async () => {
    const path = String((await fetchTruth(rig.sandboxUrl))[0]?.path)
    const show = 'show idle_in_transaction_session_timeout'
    const [seen] = await rig.app.store.read(async (tx) => {
      const activity = await findExportedActivity(tx, { accountId: rig.account.accountId, path })
      const lines = findSampleLines(tx, { activityId: Number(activity?.activityId), path, form: 'csv' })
      for await (const _ of lines) return (await tx.client.query(show)).rows
      return []
    })
    expect(seen).toEqual({ idle_in_transaction_session_timeout: '0' })
  })

  it('stops between two pieces when the signal aborts', async () => {
    const [ride] = await fetchTruth(rig.sandboxUrl)
    const stopped = AbortSignal.abort()
    await expect(bytesOf(String(ride?.path), 'csv', stopped)).rejects.toBe(stopped.reason)
  })

  it('is not written without samples, and states the reason', async () => {
    for (const [state, reason] of [
      ['wanted', 'run: musette sync'],
      ['awaiting_samples', 'fetch them again by itself'],
      ['mirrored', 'the service has none'],
      ['failed', 'the answer was cut'],
    ]) {
      await rig.rows(
        `insert into training.activities (account_id, path, listed_at, wanted_at, detail_state, fetch_error)
         values ($1, 'empty-' || $2, now(), now(), $2, case $2 when 'failed' then 'the answer was cut' end)`,
        [rig.account.accountId, state],
      )
      const { why, bytes } = await bytesOf(`empty-${state}`, 'json')
      expect(why).toContain(reason)
      expect(bytes).toHaveLength(0)
    }
  })
})

// All columns except the position are `real`: numbers are equal if they round to the same float.
function asHeld(field: string, value: unknown): unknown {
  if (value === null || value === undefined || value === '') return null
  return field === 'lat' || field === 'lng' ? Number(value) : Math.fround(Number(value))
}

function fromWire(sample: Record<string, unknown>): unknown[] {
  const t = new Date(Number(sample.unix_time)).toISOString()
  return [t, ...SAMPLE_FIELDS.map((field) => asHeld(field, sample[field]))]
}

function fromExport(sample: Record<string, unknown>): unknown[] {
  return [sample.t, ...SAMPLE_FIELDS.map((field) => asHeld(field, sample[field]))]
}

function fromCsv(line: string): unknown[] {
  const cells = line.split(',')
  return fromExport(Object.fromEntries(HEADER.split(',').map((name, index) => [name, cells[index]])))
}

/** The fields of a sample that have no column; NULL if only other samples have the field. */
function extrasOf(sample: Record<string, unknown>, fields: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries([...fields].map((field) => [field, sample[field] ?? null]))
}

function withoutNulls(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}

async function makeRareRide({ app, account, rows }: Rig, path: string): Promise<string> {
  const [made] = await rows(
    `insert into training.activities (account_id, path, listed_at, wanted_at, detail_state, sample_count)
     values ($1, $2, now(), now(), 'mirrored', 4) returning activity_id`,
    [account.accountId, path],
  )
  const activityId = Number(made?.activity_id)
  const power = [Number.POSITIVE_INFINITY, 1, -2.5, Number.NaN]
  const samples = makeSamples(4, (field, index) => (field === 'power' ? Number(power[index]) : 7))
  samples.t.set([Number.NaN, Number(samples.t[1]) + 0.25, Number(samples.t[2]), Number(samples.t[2])])
  await app.store.transaction(async (tx) => {
    await replaceSamples(tx, activityId, samples)
    await replaceSampleExtras(tx, [
      {
        activityId,
        samples,
        sampleExtras: [
          makeExtra('note', ['a "b"\n\\c', null, ['x'], 'last']),
          makeExtra('t', [1, 1.1, 1e-7, -0.5]),
        ],
      },
    ])
  })
  return path
}

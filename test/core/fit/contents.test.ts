import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { Profile } from '@garmin/fitsdk'
import { describe, expect, it } from 'vitest'
import { readContents } from '../../../src/core/fit/fit-contents.ts'
import { MESSAGES } from '../../../src/core/fit/profile-fields.ts'
import * as names from '../../../src/core/fit/profile-names.ts'
import { makeFitFile } from '../../../src/sandbox/fit-file.ts'
import { sample } from '../../kit/sampling.ts'
import { makeRichFit } from './make-rich-fit.ts'
import { readMessagesWithSdk } from './sdk-reader.ts'
import { FILE_ID_ACTIVITY, littleEndian, T0, wrap } from './wrap.ts'

const ride = Buffer.from(makeFitFile({ startedAt: new Date('2026-03-11T16:00:00Z'), seconds: 600 }))
const rich = makeRichFit()

function expectSame(bytes: Uint8Array): ReturnType<typeof readContents> {
  const ours = readContents(bytes)
  const { described, records, others, ...sdk } = readMessagesWithSdk(bytes)
  const { sessions, laps, devices, head } = ours
  expect({ sessions, laps, devices, head }).toEqual(sdk)
  const series = ours.described.map(({ fields, records, values }) => ({ fields, records, values }))
  expect(series).toEqual(described)
  expect(ours.records.count).toBe(records.length)
  for (const [index, record] of recordsOf(ours).entries()) expect(record).toEqual(records[index])
  expect(othersOf(ours)).toEqual(others)
  return ours
}

/** The fields of each record by name. */
function recordsOf({ records }: ReturnType<typeof readContents>) {
  const { count, timesMs, fields } = records
  return Array.from({ length: count }, (_, row) => {
    const time = timesMs[row] ?? Number.NaN
    const timestamp = Number.isNaN(time) ? [] : [['timestamp', new Date(time).toISOString()]]
    const own = [...fields.values()].flatMap(({ name, numbers, pairs, others }) => {
      const pair = pairs?.map((list) => (Number.isNaN(list[row]) ? null : (list[row] ?? null)))
      const known = pair?.some((one) => one !== null) ? pair : undefined
      const value = others.get(row + 1) ?? known ?? numbers[row] ?? Number.NaN
      return Number.isNaN(value) ? [] : [[name, value]]
    })
    return Object.fromEntries([...timestamp, ...own])
  })
}

/** The messages other than records, sessions and laps, by name. */
function othersOf({ others }: ReturnType<typeof readContents>) {
  const named: Record<string, unknown[]> = {}
  for (const { name, record: _, ...message } of others) {
    named[name] ??= []
    named[name].push(message)
  }
  return named
}

describe('FIT contents', () => {
  const folder = new URL('../../../../shared/fit/', import.meta.url)
  const real = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.fit')) : []
  for (const name of sample(real, 3)) {
    it(`all fields equal what @garmin/fitsdk reads in the real file ${name}`, () => {
      const { laps, devices } = expectSame(readFileSync(new URL(name, folder)))
      expect(laps.length + devices.length).toBeGreaterThan(0)
    })
  }

  it('laps, sensors and developer fields equal what @garmin/fitsdk reads', () => {
    expect(expectSame(ride)).toMatchObject({
      ...{ parts: 1, problem: null },
      records: { count: 600 },
    })
    const { sessions, laps, devices, described } = expectSame(rich)
    expect([sessions, laps, devices, described].map(({ length }) => length)).toEqual([2, 4, 6, 4])
    expect(described.map(({ values }) => values.length)).toEqual([24, 120, 0, 0])
    expect(laps[1]?.developerFields).toEqual({ note: 'lap 2', lap_score: 1_001 })
  })

  it('each chained part keeps its own developer fields', () => {
    const both = readContents(Buffer.concat([ride, rich, rich]))
    expect(both).toMatchObject({ parts: 3, records: { count: 840 }, problem: null })
    expect([both.sessions, both.laps, both.described].map(({ length }) => length)).toEqual([5, 9, 8])
    expect(both.described[4]?.values).toEqual(both.described[0]?.values)
    // A description of an earlier part does not apply: the value stays as its bytes.
    const record = [0x62, 0, 0, 20, 0, 1, 253, 4, 0x86, 1, 0, 2, 0, 0x02, ...littleEndian(T0), 1, 2]
    const undescribed = readContents(Buffer.concat([rich, wrap([...FILE_ID_ACTIVITY, ...record])]))
    expect(undescribed.described.map(({ values }) => values.length)).toEqual([24, 120, 0, 0, 1])
    expect(undescribed.described.at(-1)).toMatchObject({ fields: {}, values: [[1, 2]] })
  })

  it('an activity ends at its last record, even if the clock jumped ahead before', () => {
    const at = (second: number) => [0x02, ...littleEndian(T0 + second)]
    const records = [0x42, 0, 0, 20, 0, 1, 253, 4, 0x86, ...at(0), ...at(90_000_000), ...at(2)]
    const { endedAt, startedAt } = readContents(wrap([...FILE_ID_ACTIVITY, ...records]))
    expect(Number(endedAt) - Number(startedAt)).toBe(2_000)
  })

  it('a damaged file is read up to the damage, and `problem` says what is wrong', () => {
    for (let size = 0; size < rich.length; size += 97) {
      const { laps, records, problem } = readContents(rich.subarray(0, size))
      expect([size, problem]).toEqual([size, expect.any(String)])
      expect(laps.length).toBeLessThanOrEqual(4)
      expect(records.count).toBeLessThanOrEqual(120)
    }
    // Padding after the file is not a problem.
    expect(readContents(Buffer.concat([rich, Buffer.alloc(4_096)]))).toEqual(readContents(rich))
    const almost = readContents(rich.subarray(0, -3))
    expect(almost).toMatchObject({
      records: { count: 120 },
      problem: expect.stringMatching(/bytes are missing at its end/),
    })
    expect(almost.laps).toEqual(readContents(rich).laps)
    const flipped = Buffer.from(rich)
    flipped.writeUInt8(flipped.readUInt8(rich.length - 1) ^ 1, rich.length - 1)
    expect(readContents(flipped)).toMatchObject({
      records: { count: 120 },
      problem: expect.stringMatching(/checksum/),
    })
  })

  it('a field of an odd type that cannot be read is left out and named', () => {
    const lap = [
      ...[
        0x43, 0, 1, 0, 19, 7, 253, 4, 0x86, 19, 2, 0x84, 20, 3, 0x84, 15, 4, 0x88, 200, 8, 0x8f, 41, 0, 0x86,
        16, 1, 0x1f,
      ],
      ...[0x03, ...littleEndian(T0).reverse(), 0, 250, 1, 2, 3, 0x7f, 0xc0, 0, 0],
      ...[0x20, 0, 0, 0, 0, 0, 0, 1, 9],
    ]
    const { laps, problem } = readContents(wrap([...FILE_ID_ACTIVITY, ...lap]))
    expect(problem).toContain('lap.maxPower, lap.maxHeartRate')
    const timestamp = new Date((T0 + 631_065_600) * 1_000).toISOString()
    expect(laps).toEqual([
      { fields: { timestamp, avgPower: 250, field_200: '2305843009213693953' }, developerFields: {} },
    ])
  })

  it('each message follows its latest definition, among more than any device has', () => {
    const first = 0xf000
    const kinds = Array.from({ length: 600 }, (_, n) => first + n).flatMap((n) => [n, first + (n % 3), n])
    const message = (n: number) => [0x43, 0, 0, n & 0xff, n >> 8, 1, n % 200, 1, 0x02, 0x03, n % 251]
    const { others, problem } = readContents(wrap([...FILE_ID_ACTIVITY, ...kinds.flatMap(message)]))
    expect(problem).toBeNull()
    expect(others.slice(1).map(({ name, fields }) => [name, fields])).toEqual(
      kinds.map((n) => [`message_${n}`, { [`field_${n % 200}`]: n % 251 }]),
    )
  })
})

describe('FIT limits', () => {
  const define = (number: number, fields: readonly number[][]) =>
    Buffer.from([0x43, 0, 0, number, 0, fields.length, ...fields.flat()])
  const [lists, bytes] = [0x0d, 0x02].map((type) => Array.from({ length: 250 }, (_, at) => [at, 1, type]))
  const many = (count: number, fields: number) =>
    Buffer.alloc(count * (fields + 1), Buffer.from([0x03, ...Array(fields).fill(7)]))
  // The messages, and the minimum number of messages or values that are left out.
  it.each<[what: string, data: Uint8Array[], left: number]>([
    ['laps', [define(19, [[19, 1, 0x02]]), many(20_050, 1)], 51],
    [
      'short records and then wide ones',
      [define(20, [[3, 1, 0x02]]), many(300_000, 1), define(20, bytes ?? []), many(1, 250)],
      100,
    ],
    ['lists in records', [define(20, lists ?? []), many(4_100, 250)], 25_000],
    ['messages with hundreds of fields', [define(200, bytes ?? []), many(12_100, 250)], 90],
  ])('a file with too much content is read in part and says how much is left out: %s', (_, data, left) => {
    const { problem } = readContents(wrap(Buffer.concat([Buffer.from(FILE_ID_ACTIVITY), ...data])))
    const [, count] =
      /^(\d+) messages or values are left out because no device writes so many$/.exec(problem ?? '') ?? []
    expect(Number(count)).toBeGreaterThanOrEqual(left)
  })
})

describe('FIT profile', () => {
  const NUMERIC = /^(s|u)int|^float|^byte$/
  const plain = (value: unknown, none: number) => {
    const [one, ...more] = [value].flat()
    return more.length > 0 || typeof one !== 'number' ? none : one
  }

  it('the profile has the same messages and fields as @garmin/fitsdk', () => {
    const sdk = Object.values(Profile.messages).map((message) => {
      // The protocol does not scale the messages that describe developer fields.
      const isScaled = message.num !== 206 && message.num !== 207
      const fields = Object.values(message.fields).map((field) => [
        field.num,
        {
          name: field.name,
          scale: isScaled && NUMERIC.test(field.type) ? plain(field.scale, 1) : 1,
          offset: isScaled && NUMERIC.test(field.type) ? plain(field.offset, 0) : 0,
          isList: field.type !== 'string' && field.array,
          isTime: field.type === 'dateTime',
        },
      ])
      return [message.num, message.name, fields]
    })
    expect([...MESSAGES].map(([number, { name, fields }]) => [number, name, [...fields]])).toEqual(sdk)
  })

  it('the profile has the same value names as @garmin/fitsdk', () => {
    const ours = {
      ...{ manufacturer: names.MANUFACTURERS, garminProduct: names.GARMIN_PRODUCTS, event: names.EVENTS },
      ...{ subSport: names.SUB_SPORTS, eventType: names.EVENT_TYPES, lapTrigger: names.LAP_TRIGGERS },
      ...{
        intensity: names.INTENSITIES,
        batteryStatus: names.BATTERY_STATUSES,
        sourceType: names.SOURCE_TYPES,
      },
      ...{ antplusDeviceType: names.ANT_DEVICE_TYPES, bleDeviceType: names.BLE_DEVICE_TYPES },
      localDeviceType: names.LOCAL_DEVICE_TYPES,
    }
    for (const [type, of] of Object.entries(ours))
      expect([type, Object.fromEntries(of)]).toEqual([type, { ...Profile.types[type] }])
  })
})

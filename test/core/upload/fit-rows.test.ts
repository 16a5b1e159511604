import { describe, expect, it } from 'vitest'
import type { DescribedField, FitContents } from '../../../src/core/fit/fit-contents.ts'
import type { RecordField } from '../../../src/core/fit/fit-records.ts'
import type { FitFields, FitValue } from '../../../src/core/fit/fit-values.ts'
import { normalizeRecords } from '../../../src/core/upload/fit-record-rows.ts'
import { normalizeFit } from '../../../src/core/upload/fit-rows.ts'
import { readTable, readWords } from '../../kit/table.ts'

const START = new Date('2026-05-03T08:00:00Z')
const FIT_EPOCH_S = 631_065_600
const NOTHING = Number.NaN

type Field = { numbers?: number[]; pairs?: [number[], number[]]; others?: Array<[number, FitValue]> }

/** Makes the records of a file, a second apart; each field by its name in the profile. */
function recordsOf(count: number, fields: Record<string, Field> = {}): FitContents['records'] {
  const made = Object.entries(fields).map(([name, { numbers = [], pairs, others = [] }], index) => {
    const field: RecordField = {
      ...{ number: index, name, numbers: Float64Array.from(numbers), others: new Map(others) },
      pairs: pairs ? [Float64Array.from(pairs[0]), Float64Array.from(pairs[1])] : null,
    }
    return [index, field] as const
  })
  const timesMs = Float64Array.from({ length: count }, (_, index) => START.getTime() + index * 1_000)
  return { count, timesMs, fields: new Map(made), gears: null, beatsHr: null, leftOut: 0 }
}

/** Reads `name 1 2 -; other 3`: numbers by name, with a dash for a missing one. */
function readNumbers(text: string): Record<string, number[]> {
  const lists = text.split(';').flatMap((list) => {
    const [name, ...numbers] = readWords(list)
    return name ? [[name, numbers.map((number) => (number === '-' ? NOTHING : Number(number)))]] : []
  })
  return Object.fromEntries(lists)
}

describe('the records of a FIT file', () => {
  // The fields, the columns, and the remaining fields with their record numbers.
  it.each(
    readTable(`
      whole numbers of 16 bits in hr, others beside it | heartRate -32767 32767 32768 -32768 1.5 - | hr -32767 32767 - - - - | heartRate 3:32768 4:-32768 5:1.5
      the balance of the right leg | leftRightBalance 128 178 255 127 256 384 128.5 | rightPowerPct 0 50 127 - - - - | leftRightBalance 4:127 5:256 6:384 7:128.5
      an altitude of fewer digits where there is no other, and beside it | enhancedAltitude 1 - 3 -; altitude 1 2 4 - | altitudeM 1 2 3 - | altitude 3:4
      the fraction of a cadence, beside it without one | cadence 90 91 - -; fractionalCadence 0.5 - 0.25 - | cadence 90.5 91 - - | fractionalCadence 3:0.25
      a fraction without any cadence | fractionalCadence 0.5 | | fractionalCadence 1:0.5
      a position in degrees | positionLat 1073741824 | lat 90 |`),
  )('hold %s', (_, fields = '', expected = '', beside = '') => {
    const given = readNumbers(fields)
    const [first = []] = Object.values(given)
    const made = Object.fromEntries(Object.entries(given).map(([name, numbers]) => [name, { numbers }]))
    const { columns, left } = normalizeRecords(recordsOf(first.length, made))
    const { t: _t, ...held } = columns
    expect(Object.fromEntries(Object.entries(held).map(([name, list]) => [name, [...(list ?? [])]]))).toEqual(
      readNumbers(expected),
    )
    const texts = left.map(({ name, records, values }) =>
      [name, ...[...records].map((record, index) => `${record}:${values[index]}`)].join(' '),
    )
    expect(texts.join()).toBe(beside)
  })

  it('keep both angles of a phase, half-filled pairs, and values that are not numbers', () => {
    const none = Array(2).fill(NOTHING)
    const { columns, left } = normalizeRecords(
      recordsOf(4, {
        leftPowerPhase: { pairs: [[1], [2]] },
        firstOf: { pairs: [[3, NOTHING], none] },
        secondOf: { pairs: [none, [NOTHING, 4]] },
        field_99: {
          numbers: [NOTHING, 2, NOTHING, 4],
          others: [
            [3, 'three'],
            [1, [1, null]],
          ],
        },
        power: { others: [[2, 'high']] },
      }),
    )
    const [start, end] = [columns.leftPowerPhaseStartDeg?.[0], columns.leftPowerPhaseEndDeg?.[0]]
    expect([start, end, columns.power]).toEqual([1, 2, undefined])
    expect(left.map(({ name, records, values }) => [name, [...records], values])).toEqual([
      ['firstOf', [1], [[3, null]]],
      ['secondOf', [2], [[null, 4]]],
      ['field_99', [1, 2, 3, 4], [[1, null], 2, 'three', 4]],
      ['power', [2], ['high']],
    ])
  })

  it('have speed and distance from three packed bytes of old devices, beyond 256 m', () => {
    const pack = (cmps: number, sixteenths: number): FitValue =>
      [cmps, (cmps >> 8) | ((sixteenths & 0xf) << 4), sixteenths >> 4].map((byte) => byte & 0xff)
    const values = [pack(1_000, 16), pack(0x123, 4_090), [1, 2], pack(500, 10)]
    const others = values.map((value, index): [number, FitValue] => [index + 1, value])
    const distance = { numbers: [NOTHING, 7, NOTHING, NOTHING] }
    const records = recordsOf(4, { compressedSpeedDistance: { others }, distance })
    const { speedMps, distanceM } = normalizeRecords(records).columns
    expect([...(speedMps ?? [])]).toEqual([10, 2.91, NOTHING, 5])
    expect([...(distanceM ?? [])]).toEqual([1, 7, NOTHING, (4_096 + 10) / 16])
  })
})

const EMPTY: FitContents = {
  ...{ parts: 1, records: recordsOf(0), startedAt: START, endedAt: null, head: {}, sessions: [], laps: [] },
  ...{ devices: [], described: [], others: [], problem: null },
}
const normalize = (change: Partial<FitContents>) => {
  const rows = normalizeFit({ ...EMPTY, ...change }, { sizeBytes: 1, readAt: START })
  return { ...rows, fields: [...rows.fields], messages: [...rows.messages] }
}
const message = (fields: FitFields, developerFields: FitFields = {}) => ({ fields, developerFields })

describe('a FIT file', () => {
  it.each([
    // Devices without a time zone write UTC twice.
    [30, null],
    [7_200 + 60, 7_200],
    [7_200 - 60, 7_200],
    [7_200 + 61, null],
    [54_000, null],
    [-43_200, -43_200],
    [-46_800, null],
  ])('whose local time differs by %i s has the UTC offset %s s', (apart, offset) => {
    const timestamp = START.toISOString()
    const localTimestamp = START.getTime() / 1_000 - FIT_EPOCH_S + apart
    expect(normalize({ head: { activity: { timestamp, localTimestamp } } }).file.utcOffsetS).toBe(offset)
    expect(normalize({ head: { activity: { localTimestamp } } }).file.utcOffsetS).toBeNull()
    expect(normalize({ head: { activity: { timestamp } } }).file.utcOffsetS).toBeNull()
  })

  it.each<[string, number[], number[], [number, number] | null]>([
    ['its first record', [45, 50], [22.5, 9], [45, 22.5]],
    ['the first record with a position', [NOTHING, 0, 135, 90], [8, 0, 8, 22.5], [90, 22.5]],
    ['nowhere if no record has a position', [NOTHING, 0], [NOTHING, 0], null],
  ])('starts at %s', (_, lat, lng, start) => {
    const semicircles = (degrees: number[]) => ({ numbers: degrees.map((each) => each * (2 ** 31 / 180)) })
    const fields = { positionLat: semicircles(lat), positionLong: semicircles(lng) }
    const [startLat, startLng] = start ?? [null, null]
    expect(normalize({ records: recordsOf(lat.length, fields) }).file).toMatchObject({ startLat, startLng })
  })

  it.each<[FitFields, string | null, string | null, number | null]>([
    [{ manufacturer: 1, product: 3_121 }, 'garmin', 'edge530', 3_121],
    [{ manufacturer: 1, product: 3_121, productName: 'Mine' }, 'garmin', 'Mine', 3_121],
    [{ manufacturer: 32, product: 3_121 }, 'wahooFitness', null, 3_121],
    [{ manufacturer: 1, product: 'x' }, 'garmin', null, null],
    [{ product: 2 ** 31 }, null, null, null],
  ])('with %j has maker %s, product %s, number %s', (fileId, manufacturer, product, productNumber) => {
    expect(normalize({ head: { fileId } }).file).toMatchObject({ manufacturer, product, productNumber })
  })
})

describe('sessions and laps', () => {
  const lap = (fields: FitFields) => normalize({ laps: [message(fields)] }).laps[0]
  it.each<[FitFields, object]>([
    [{ totalAscent: 12, totalFractionalAscent: 0.5 }, { ascentM: 12.5 }],
    [{ totalFractionalAscent: 0.5 }, { ascentM: null }],
    [{ enhancedAvgSpeed: 9.5, avgSpeed: 9 }, { avgSpeedMps: 9.5 }],
    [{ leftRightBalance: 0x8000 + 4_950 }, { rightPowerPct: 49.5 }],
    [{ leftRightBalance: 0x8000 + 0x3fff }, { rightPowerPct: 163.83 }],
    [{ leftRightBalance: 4_950 }, { rightPowerPct: null }],
    [{ startTime: START.toISOString() }, { startedAt: START, endedAt: null }],
  ])('with %j get %j', (fields, expected) => {
    expect(lap(fields)).toMatchObject(expected)
  })
})

it('a device whose serial number alternates has one row per number', () => {
  const devices = [7, 8, 7, 8, undefined, 7].map((serialNumber) =>
    message({ deviceIndex: 1, ...(serialNumber !== undefined && { serialNumber }) }),
  )
  expect(
    normalize({ devices: [...devices, message({ deviceIndex: 2, serialNumber: 7 })] }).devices,
  ).toMatchObject([
    { deviceIndex: 1, serialNumber: 7, messages: 3 },
    { deviceIndex: 1, serialNumber: 8, messages: 3 },
    { deviceIndex: 2, serialNumber: 7, messages: 1 },
  ])
})

it('devices are merged by index and serial number; each field’s last value counts', () => {
  const at = (second: number) => new Date(START.getTime() + second * 1_000).toISOString()
  const { devices } = normalize({
    devices: [
      message({ deviceIndex: 1, serialNumber: 7, batteryVoltage: 3, timestamp: at(9) }, { a: 1 }),
      message({ deviceIndex: 2, deviceType: 11, sourceType: 1 }),
      message({ deviceIndex: 1, batteryVoltage: 2.5, timestamp: at(1) }, { b: 2 }),
      message({ deviceIndex: 1, serialNumber: 7, timestamp: at(5) }),
      message({ deviceIndex: 1, serialNumber: 8 }),
      message({ deviceIndex: 2, serialNumber: 9 }),
    ],
  })
  expect(devices).toMatchObject([
    {
      ...{ position: 1, deviceIndex: 1, serialNumber: 7, batteryVoltage: 2.5, messages: 3 },
      ...{ firstAt: new Date(at(1)), lastAt: new Date(at(9)), kind: null },
      fields: { developer_fields: { a: 1, b: 2 } },
    },
    { position: 2, deviceIndex: 2, serialNumber: 9, messages: 2, firstAt: null, kind: 'bikePower' },
    { position: 3, deviceIndex: 1, serialNumber: 8, messages: 1, batteryVoltage: null },
  ])
})

describe('the fields of apps', () => {
  const described = (change: Partial<DescribedField> = {}): DescribedField => ({
    ...{ developer: 0, number: 3, type: 2, fields: {}, app: undefined, records: [], values: [], ...change },
  })
  const of = (change: Partial<DescribedField>, contents: Partial<FitContents> = {}) =>
    normalize({ described: [described(change)], records: recordsOf(2), ...contents }).fields[0]

  it('keep their values, with record numbers unless every record has a value', () => {
    expect(of({ records: [1, 2], values: [5, 'x'] })).toMatchObject({
      ...{ position: 1, count: 2, offsetsS: [0, 1], values: [5, null], records: null, others: { 2: 'x' } },
    })
    expect(of({ records: [2], values: [5] })).toMatchObject({ records: [2], offsetsS: [1], others: null })
    expect(of({ records: [2, 3], values: [5, 6] })).toMatchObject({ records: [2, 3], offsetsS: [1, null] })
  })

  it('have the time since the file’s start, within the range of an integer', () => {
    const timesMs = Float64Array.from([(2 ** 31 - 1) * 1_000, 2 ** 31 * 1_000])
    const records = { ...recordsOf(2), timesMs }
    const startedAt = new Date(0)
    const field = { records: [1, 2], values: [5, 6] }
    expect(of(field, { records, startedAt })?.offsetsS).toEqual([2 ** 31 - 1, null])
  })

  it.each<[FitFields, FitFields | undefined, object]>([
    [{}, undefined, { name: null, units: null, nativeField: null, applicationId: null, fields: {} }],
    [{ nativeMesgNum: 20, nativeFieldNum: 7 }, undefined, { nativeField: 'record.power' }],
    [{ nativeMesgNum: 20, nativeFieldNum: 251 }, undefined, { nativeField: null }],
    [{ fieldName: 'Power' }, { applicationId: [1, 255] }, { name: 'Power', applicationId: '01ff' }],
  ])('%j of the app %j are %j', (fields, app, expected) => {
    expect(of({ fields, app })).toMatchObject(expected)
    expect(of({ fields, app })?.fields).toEqual(app ? { ...fields, app } : fields)
  })
})

import { Decoder, Stream } from '@garmin/fitsdk'
import { describe, expect, it, vi } from 'vitest'
import { readContents } from '../../../src/core/fit/fit-contents.ts'
import { normalizeFit } from '../../../src/core/upload/fit-rows.ts'
import { FILE_ID_ACTIVITY, littleEndian, makeRandom, T0, wrap } from './wrap.ts'

type Field = [number: number, type: number, bytes: number[]]
/** A message by its number in the FIT profile, with its fields and its developer fields (`own`). */
type Made = { number: number; fields: Field[]; own?: Array<[number, number[]]> }

const [UINT8, UINT16, UINT32, TEXT] = [0x02, 0x84, 0x86, 0x07]
const two = (value: number) => littleEndian(value).slice(0, 2)
const text = (value: string, size: number) => [...Buffer.alloc(size, value.padEnd(size, '\0'))]

/** Makes a FIT activity out of messages, each preceded by its definition. */
function make(messages: readonly Made[]): Buffer {
  const bytes = messages.flatMap(({ number, fields, own = [] }) => [
    ...[own.length > 0 ? 0x61 : 0x41, 0, 0, number & 0xff, number >> 8, fields.length],
    ...fields.flatMap(([field, type, value]) => [field, value.length, type]),
    ...(own.length > 0 ? [own.length, ...own.flatMap(([field, value]) => [field, value.length, 0])] : []),
    ...[0x01, ...fields.flatMap(([, , value]) => value), ...own.flatMap(([, value]) => value)],
  ])
  return wrap([...FILE_ID_ACTIVITY, ...bytes])
}

const record = (second: number, fields: Made['fields'] = [], own: Made['own'] = []): Made => {
  return { number: 20, fields: [[253, UINT32, littleEndian(T0 + second)], ...fields], own }
}
/** A lap with developer fields, by their numbers. */
const lap = (own: Record<number, number[]>): Made => {
  const fields = Object.entries(own).map(([field, value]): [number, number[]] => [Number(field), value])
  return { number: 19, fields: [], own: fields }
}
const ofApps = (fields: object) => expect.objectContaining({ fields: { developer_fields: fields } })
const description = (field: number, type: number | undefined, name: string): Made => {
  const head = [[0], [field], ...(type === undefined ? [] : [[type]])]
  const fields = head.map((bytes, index): Field => [index, UINT8, bytes])
  return { number: 206, fields: [...fields, [3, TEXT, text(name, 16)]] }
}

/** The rows that SQL gets: record columns with a value, values in fit_fields by record, laps and problem. */
function rowsOf(bytes: Uint8Array) {
  const contents = readContents(bytes)
  const rows = normalizeFit(contents, { sizeBytes: 1, readAt: new Date() })
  const { file, fields, laps, records, messages } = rows
  const { t: _, ...columns } = records.columns
  const fieldsOf = (name: string) =>
    [...messages].filter(({ message }) => message === name).map(({ fields: of }) => of)
  return {
    problem: file.problem,
    columns: Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, [...(values ?? [])]])),
    fields: Array.from(fields, ({ name, fieldNumber, values, others, records: places }) => ({
      ...{ name, fieldNumber, records: places },
      values: (values as unknown[]).map(
        (value, index) => value ?? Reflect.get(Object(others), String(index + 1)),
      ),
    })),
    ...{ laps, events: fieldsOf('event'), sports: fieldsOf('sport') },
  }
}

const NOTHING = { problem: null, columns: {}, fields: [] }
const field = (name: string | null, fieldNumber: number, records: number[] | null, values: unknown[]) => ({
  ...{ name, fieldNumber, records, values },
})

describe('odd FIT values', () => {
  it.each<[string, Made[], object]>([
    [
      'a developer field before its description',
      [record(0, [], [[4, two(300)]]), description(4, UINT16, 'balance'), record(1, [], [[4, two(301)]])],
      { ...NOTHING, fields: [field('balance', 4, null, [300, 301])] },
    ],
    [
      'a developer field without a description',
      [record(0, [], [[4, two(300)]]), record(1, [], [[4, [0xff, 0xff]]])],
      { ...NOTHING, fields: [field(null, 4, [1], [[44, 1]])] },
    ],
    [
      'a developer field whose description has no type',
      [description(4, undefined, 'no type'), record(0, [], [[4, two(300)]])],
      { ...NOTHING, fields: [field('no type', 4, null, [[44, 1]])] },
    ],
    [
      'a developer field whose size does not fit its type',
      [description(4, UINT16, 'odd'), record(0, [], [[4, [1, 2, 3]]])],
      { ...NOTHING, fields: [field('odd', 4, null, [[1, 2, 3]])] },
    ],
    [
      'a developer field of an unknown type',
      [description(5, 0x1f, 'new'), record(0, [], [[5, [9]]])],
      { ...NOTHING, fields: [field('new', 5, null, [9])] },
    ],
    [
      'a developer field in a lap before its description',
      [record(0), lap({ 4: two(7) }), description(4, UINT16, 'score')],
      { ...NOTHING, fields: [field('score', 4, [], [])], laps: [ofApps({ score: 7 })] },
    ],
    [
      'two fields with the same name, and a list of texts',
      [
        ...[description(4, UINT8, 'bar'), description(5, UINT8, 'bar'), description(6, TEXT, 'note')],
        ...[record(0), lap({ 4: [1], 5: [2], 6: text('left\0right', 11) })],
      ],
      { problem: null, laps: [ofApps({ bar: 1, bar_0_5: 2, note: ['left', 'right'] })] },
    ],
    [
      'a field that is described again later',
      [
        ...[description(4, UINT16, 'first'), record(0, [], [[4, two(1)]])],
        ...[description(4, UINT8, 'second'), record(1, [], [[4, [2]]])],
      ],
      { ...NOTHING, fields: [field('first', 4, [1], [1]), field('second', 4, [2], [2])] },
    ],
    [
      'two values where the profile has a single value',
      [record(0, [[7, UINT16, [...two(200), ...two(201)]]]), record(1, [[7, UINT16, two(202)]])],
      { ...NOTHING, columns: { power: [200, 202] }, fields: [field('power', 7, [1], [[200, 201]])] },
    ],
    [
      'two values of which one is invalid',
      [
        record(0, [[7, UINT16, [...two(200), 0xff, 0xff]]]),
        record(1, [[7, UINT16, [0xff, 0xff, ...two(201)]]]),
      ],
      { ...NOTHING, columns: { power: [200, Number.NaN] }, fields: [field('power', 7, [2], [[null, 201]])] },
    ],
    [
      'a field that occurs twice in one record',
      [
        record(
          0,
          [3_000, 3_500].map((raw) => [78, UINT32, littleEndian(raw)]),
        ),
      ],
      {
        ...NOTHING,
        columns: { altitudeM: [100] },
        fields: [field('enhancedAltitude', 78, null, [[100, 200]])],
      },
    ],
    [
      'two values in a lap, the first of them in the column',
      [record(0), { number: 19, fields: [[19, UINT16, [...two(250), ...two(251)]]] }],
      { ...NOTHING, laps: [expect.objectContaining({ avgPower: 250, fields: { avgPower: [250, 251] } })] },
    ],
    [
      'a list of texts with an empty first text',
      [record(0), { number: 12, fields: [[3, TEXT, [0, ...text('second', 10)]]] }],
      { ...NOTHING, sports: [{ name: ['', 'second'] }] },
    ],
    [
      'a text without the old memory after its end',
      [record(0), { number: 12, fields: [[3, TEXT, text('Commute\0x\0', 16)]] }],
      { ...NOTHING, sports: [{ name: 'Commute' }] },
    ],
    [
      'a field whose size does not fit its type, named in problem',
      [
        record(0, [[3, UINT16, [120]]]),
        { number: 21, fields: [[0, 0, [0]]] },
        { number: 21, fields: [[3, UINT32, [5]]] },
      ],
      {
        ...{ columns: {}, fields: [], events: [{ event: 0 }, {}] },
        problem:
          'these fields are left out because their size or type is invalid: record.heartRate, event.data',
      },
    ],
    ['no field of a wrong size if it has no value', [record(0, [[3, UINT16, [0xff]]])], NOTHING],
  ])('SQL gets an odd value: %s', (_, messages, expected) => {
    const rows = rowsOf(make(messages))
    expect(rows).toEqual({ ...rows, ...expected })
  })

  it('an odd value is read as @garmin/fitsdk reads it, or named as left out', () => {
    const next = makeRandom(20_261_126)
    const random = (below: number) => Math.floor(next() * below)
    const types = [0x00, 0x01, 0x02, 0x83, 0x84, 0x85, 0x86, 0x88, 0x89, 0x0a, 0x8b, 0x8c, 0x0d]
    const bytesOf = (size: number) =>
      Array.from({ length: size }, () => [random(256), 0xff, 0][random(3)] ?? 0)
    for (let round = 0; round < 150; round++) {
      // The first fields of a lap: timestamps, positions, scaled totals; lists come after them.
      const laps = Array.from({ length: 5 }, () => ({
        number: 19,
        fields: Array.from(
          { length: 12 },
          (_, index): Field => [index * 13, types[random(types.length)] ?? 0, bytesOf(1 + random(9))],
        ),
      }))
      const bytes = make([record(0), ...laps])
      const { laps: ours, problem } = readContents(bytes)
      const sdk = readAllValues(bytes)
      expect(ours.map(({ fields }) => simple(fields))).toEqual(sdk.map(simple))
      const isMissing = laps.some(({ fields }) =>
        fields.some(
          ([, type, value]) => value.length % sizeOf(type) !== 0 && value.some((byte) => byte !== 0xff),
        ),
      )
      expect(problem !== null).toBe(isMissing)
    }
  })
})

const sizeOf = (type: number) =>
  ({ 131: 2, 132: 2, 139: 2, 133: 4, 134: 4, 136: 4, 140: 4, 137: 8 })[type] ?? 1

/** Reads the laps with @garmin/fitsdk, with all values of each field, as its older versions did. */
function readAllValues(bytes: Uint8Array): Record<string, unknown>[] {
  // The library warns that this mode is deprecated.
  const log = vi.spyOn(console, 'log').mockReturnValue()
  const { messages } = new Decoder(Stream.fromBuffer(bytes)).read({
    ...{ mergeHeartRates: false, expandComponents: false, expandSubFields: false },
    ...{ convertTypesToStrings: false, convertDateTimesToDates: false },
    ...{ includeUnknownData: true, legacyArrayMode: true },
  })
  log.mockRestore()
  return (messages.lapMesgs ?? []) as Record<string, unknown>[]
}

/** The fields of a message with timestamps as FIT seconds, and lists without invalid values at the end. */
function simple(fields: Record<string, unknown>): Record<string, unknown> {
  const plain = (value: unknown): unknown => {
    if (typeof value === 'string') return Date.parse(value) / 1_000 - 631_065_600
    return value === undefined || Number.isNaN(value) || Math.abs(Number(value)) === Number.POSITIVE_INFINITY
      ? null
      : value
  }
  const entries = Object.entries(fields).flatMap(([name, value]) => {
    const list = [value].flat().map(plain)
    while (list.length > 0 && list.at(-1) === null) list.pop()
    return list.length > 0 ? [[/^\d+$/.test(name) ? `field_${name}` : name, list]] : []
  })
  return Object.fromEntries(entries)
}

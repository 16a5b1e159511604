import {
  type FitValue,
  makeNumberReader,
  type NumberReader,
  readFieldValue,
  valueSizeOf,
} from './fit-values.ts'
import type { Field, FitMessage } from './fit-walker.ts'
import { FIRST_ABSOLUTE_TIME, FIT_EPOCH_S, RECORD, TIMESTAMP } from './profile.ts'
import { MESSAGES } from './profile-fields.ts'

/**
 * A field of the records of a file. `name`: its name in the FIT profile, or `field_N`. `numbers`: its value in each record, in the unit of
 * the profile, NaN if missing. `pairs`: the same for a field that is a list of two numbers, otherwise null. `others`: all other values, by
 * record number from 1.
 */
export type RecordField = Readonly<{
  number: number
  name: string
  numbers: Float64Array
  pairs: readonly [first: Float64Array, second: Float64Array] | null
  others: ReadonlyMap<number, FitValue>
}>

/** Teeth of the chainring and the sprocket in use at each record, NaN if unknown; null if the file has no gear change. */
type RecordGears = Readonly<{ front: Float64Array; rear: Float64Array }>

/**
 * The records of a file, by field. `timesMs`: ms since 1970, NaN for a record without a time. `beatsHr`: heart rate computed from the beats
 * that a strap stored, NaN for a record without beats; null if the file has none. `leftOut`: how many records and values are missing
 * because the limits below are reached.
 */
export type FitRecords = Readonly<{
  count: number
  timesMs: Float64Array
  fields: ReadonlyMap<number, RecordField>
  gears: RecordGears | null
  beatsHr: Float64Array | null
  leftOut: number
}>

/** Maximum number of values in all columns: 40 fields a second for five days. */
const MAX_NUMBERS = 20_000_000
/** Maximum number of values that are not numbers: ten a second for a day. A hostile file may consist of such values. */
const MAX_OTHERS = 1_000_000

type OpenField = {
  number: number
  name: string
  column: Float64Array | undefined
  pair: [Float64Array, Float64Array] | undefined
  others: Map<number, FitValue>
}
/** How a field is read: as one or two numbers of `width` bytes, or as any value. `all`: its places, if it may hold more values. */
type Step = { place: Field; field: OpenField; read: NumberReader | undefined; width: number; all: Field[] }
type Definition = FitMessage['definition']

/** Makes a reader that collects record messages in columns. `expected`: how many records there are. */
export function recordsReader(expected: number) {
  const fields = new Map<number, OpenField>()
  const steps = new WeakMap<Definition, Step[]>()
  let columns = 0
  const capacity = Math.min(expected, MAX_NUMBERS)
  let count = 0
  let otherValues = 0
  let leftOut = 0

  const hasRoom = (more: number) => capacity * (columns + more) <= MAX_NUMBERS
  const addColumn = () => {
    columns += 1
    return new Float64Array(capacity).fill(Number.NaN)
  }
  const times = addColumn()
  const gears: { front?: Float64Array; rear?: Float64Array } = {}
  let inUse = { front: Number.NaN, rear: Number.NaN }

  const stepsOf = (definition: Definition): Step[] => {
    const known = steps.get(definition)
    if (known) return known
    const first = definition.fields.filter(
      ({ number }, index) => definition.fields.findIndex((place) => place.number === number) === index,
    )
    const made = first.map((place): Step => {
      const profile = MESSAGES.get(RECORD.message)?.fields.get(place.number)
      const { number } = place
      const field = fields.get(number) ?? {
        ...{ number, name: profile?.name ?? `field_${number}` },
        ...{ column: undefined, pair: undefined, others: new Map() },
      }
      fields.set(number, field)
      const isPair = profile?.isList && place.size % 2 === 0
      const isOne = profile !== undefined && !profile.isList
      const width = isPair ? place.size / 2 : isOne ? valueSizeOf(place) : place.size
      const places = definition.fields.filter((other) => other.number === number)
      const all = places.length > 1 || (isOne && width < place.size) ? places : []
      const isList = profile?.isList && (!isPair || all.length > 0)
      return {
        place,
        field,
        width,
        all,
        read: isList ? undefined : makeNumberReader({ ...place, size: width }, profile),
      }
    })
    steps.set(definition, made)
    return made
  }
  const keepOther = (row: number, field: OpenField, value: FitValue | undefined) => {
    if (value === undefined) return
    if (otherValues++ < MAX_OTHERS) field.others.set(row + 1, value)
    else leftOut += 1
  }
  return {
    /** Reads the next record and returns its number from 1; undefined if there is no room left. */
    push(message: FitMessage): number | undefined {
      if (count === capacity) {
        leftOut += 1
        return undefined
      }
      const row = count++
      const { time, bytes, definition } = message
      const isDated = time !== null && time >= FIRST_ABSOLUTE_TIME
      if (isDated) times[row] = (time + FIT_EPOCH_S) * 1_000
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      for (const { place, field, read, width, all } of stepsOf(definition)) {
        if (isDated && place.number === TIMESTAMP) continue
        const values = all.flatMap((one) => readFieldValue(message, one) ?? null)
        if (values.slice(1).some((value) => value !== null)) keepOther(row, field, values)
        if (read && width < place.size && all.length === 0) {
          const first = read(view, place.offset, definition.little)
          const second = read(view, place.offset + width, definition.little)
          if (Number.isNaN(first) && Number.isNaN(second)) continue
          if (!field.pair && hasRoom(2)) field.pair = [addColumn(), addColumn()]
          if (!field.pair) leftOut += 1
          else {
            field.pair[0][row] = first
            field.pair[1][row] = second
          }
        } else if (read) {
          const value = read(view, place.offset, definition.little)
          if (Number.isNaN(value)) continue
          if (!field.column && hasRoom(1)) field.column = addColumn()
          if (field.column) field.column[row] = value
          else leftOut += 1
        } else if (!field.others.has(row + 1)) keepOther(row, field, readFieldValue(message, place))
      }
      if (gears.front) gears.front[row] = inUse.front
      if (gears.rear) gears.rear[row] = inUse.rear
      return row + 1
    },
    /** Sets the gears in use from the next record on, in teeth; NaN if unknown. */
    shift(teeth: { front: number; rear: number }) {
      inUse = teeth
      if (gears.front || !hasRoom(2)) return
      gears.front = addColumn()
      gears.rear = addColumn()
    },
    end(): Omit<FitRecords, 'beatsHr'> {
      const cut = (column: Float64Array | undefined) => column?.subarray(0, count) ?? new Float64Array()
      const ended = [...fields.values()].map(({ column, pair, ...field }) => ({
        ...field,
        numbers: cut(column),
        pairs: pair ? ([cut(pair[0]), cut(pair[1])] as const) : null,
      }))
      const { front, rear } = gears
      return {
        count,
        timesMs: cut(times),
        fields: new Map(ended.map((field) => [field.number, field])),
        gears: front && rear ? { front: cut(front), rear: cut(rear) } : null,
        leftOut,
      }
    },
  }
}

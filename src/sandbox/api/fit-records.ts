import { makeTrack, type Track } from '../athlete/track.ts'

/** One moment of riding: Unix ms, and the columns of a track that were recorded. */
type Moment = { timeMs: number; values: Map<Column, number> }
type Column = Exclude<keyof Track, 'unixMs' | 'tgt'>
type Place = { offset: number; size: number }
type Definition = { isRecord: boolean; little: boolean; size: number; fields: Map<number, Place> }

/** How a field of a record is written (FIT profile, message 20): bytes, what stands for nothing, the meaning of its number. */
type Field = { column: Column; size: 1 | 2 | 4; nothing: number; value: (raw: number) => number }

const RECORD = 20
const TIMESTAMP = 253
/** FIT counts seconds from the last day of 1989, UTC; below this it counts from when the device was switched on. */
const FIT_EPOCH_MS = 631_065_600_000
const FIRST_ABSOLUTE_TIME = 0x10000000

const same = (raw: number) => raw
const degrees = (raw: number) => (raw | 0) * (180 / 2 ** 31)
const metres = (raw: number) => raw / 5 - 500
const perSecond = (raw: number) => raw / 1_000

/** A later field wins over an earlier one of the same column: the enhanced over the narrow. */
const FIELDS: ReadonlyMap<number, Field> = new Map<number, Field>([
  [0, { column: 'lat', size: 4, nothing: 0x7fffffff, value: degrees }],
  [1, { column: 'lng', size: 4, nothing: 0x7fffffff, value: degrees }],
  [2, { column: 'alt', size: 2, nothing: 0xffff, value: metres }],
  [3, { column: 'hr', size: 1, nothing: 0xff, value: same }],
  [4, { column: 'cad', size: 1, nothing: 0xff, value: same }],
  [5, { column: 'dist', size: 4, nothing: 0xffffffff, value: (raw) => raw / 100 }],
  [6, { column: 'spd', size: 2, nothing: 0xffff, value: perSecond }],
  [7, { column: 'power', size: 2, nothing: 0xffff, value: same }],
  [73, { column: 'spd', size: 4, nothing: 0xffffffff, value: perSecond }],
  [78, { column: 'alt', size: 4, nothing: 0xffffffff, value: metres }],
])

/**
 * Reads the records of a whole FIT activity into a track, in the order of time, as leniently as the service: times in
 * compressed headers, several sessions and chained files; a record without a time is a second after the one before it, or at
 * `startedAt`. What does not fit the profile counts as not recorded.
 */
export function readFitTrack(bytes: Uint8Array, startedAt: Date): Track {
  const moments = [...walkParts(bytes, startedAt.getTime())].sort((a, b) => a.timeMs - b.timeMs)
  const track = makeTrack(moments.length)
  for (const [i, { timeMs, values }] of moments.entries()) {
    track.unixMs[i] = timeMs
    for (const [column, value] of values) track[column][i] = value
  }
  return track
}

function* walkParts(bytes: Uint8Array, startMs: number): Generator<Moment> {
  let next = startMs
  for (let offset = 0; offset < bytes.length; ) {
    const view = new DataView(bytes.buffer, bytes.byteOffset + offset, bytes.byteLength - offset)
    const end = view.getUint8(0) + view.getUint32(4, true)
    for (const moment of walkMessages(view, end, next)) {
      next = moment.timeMs + 1_000
      yield moment
    }
    offset += end + 2
  }
}

/** Walks over the messages of one file; ends early at what cannot be followed. */
function* walkMessages(view: DataView, end: number, startMs: number): Generator<Moment> {
  const definitions = new Map<number, Definition>()
  let clock = 0
  let next = startMs
  for (let place = view.getUint8(0); place < end; ) {
    const header = view.getUint8(place++)
    if ((header & 0xc0) === 0x40) {
      const read = readDefinition(view, { place, end }, (header & 0x20) !== 0)
      if (!read) return
      definitions.set(header & 0x0f, read.definition)
      place = read.next
      continue
    }
    const compressed = (header & 0x80) !== 0
    const definition = definitions.get(compressed ? (header >> 5) & 0x03 : header & 0x0f)
    if (!definition || place + definition.size > end) return
    const stamp = numberAt(view, place, definition, TIMESTAMP, 4)
    const stamped = stamp !== undefined && stamp !== 0xffffffff
    if (stamped) clock = stamp
    // A compressed header carries the low five bits of the time, counted on from the last whole one.
    else if (compressed) clock += ((header & 0x1f) - clock) & 0x1f
    if (definition.isRecord) {
      const timed = (stamped || compressed) && clock >= FIRST_ABSOLUTE_TIME
      const timeMs = timed ? clock * 1_000 + FIT_EPOCH_MS : next
      next = timeMs + 1_000
      yield { timeMs, values: readValues(view, place, definition) }
    }
    place += definition.size
  }
}

function readDefinition(
  view: DataView,
  { place: start, end }: { place: number; end: number },
  hasDeveloperFields: boolean,
): { definition: Definition; next: number } | undefined {
  if (start + 5 > end) return undefined
  const little = view.getUint8(start + 1) === 0
  const isRecord = view.getUint16(start + 2, little) === RECORD
  const count = view.getUint8(start + 4)
  const fields = new Map<number, Place>()
  let place = start + 5
  let size = 0
  if (place + 3 * count >= end) return undefined
  for (let i = 0; i < count; i++, place += 3) {
    const field = { offset: size, size: view.getUint8(place + 1) }
    fields.set(view.getUint8(place), field)
    size += field.size
  }
  if (hasDeveloperFields) {
    const more = view.getUint8(place++)
    if (place + 3 * more > end) return undefined
    for (let i = 0; i < more; i++, place += 3) size += view.getUint8(place + 1)
  }
  return { definition: { isRecord, little, size, fields }, next: place }
}

function readValues(view: DataView, place: number, definition: Definition): Moment['values'] {
  const values: Moment['values'] = new Map()
  for (const [number, { column, size, nothing, value }] of FIELDS) {
    const raw = numberAt(view, place, definition, number, size)
    if (raw !== undefined && raw !== nothing) values.set(column, value(raw))
  }
  return values
}

function numberAt(
  view: DataView,
  place: number,
  { fields, little }: Definition,
  number: number,
  size: 1 | 2 | 4,
): number | undefined {
  const field = fields.get(number)
  if (field?.size !== size) return undefined
  const at = place + field.offset
  if (size === 1) return view.getUint8(at)
  return size === 2 ? view.getUint16(at, little) : view.getUint32(at, little)
}

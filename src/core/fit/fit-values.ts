import type { DeveloperField, Field, FitMessage } from './fit-walker.ts'
import { FIRST_ABSOLUTE_TIME, FIT_EPOCH_S } from './profile.ts'
import { MESSAGES, type ProfileField } from './profile-fields.ts'

/** A value of a field: texts, whole numbers beyond 2^53 and moments (ISO 8601, UTC) are texts; a list may have gaps. */
export type FitValue = number | string | readonly (number | string | null)[]
export type FitFields = Readonly<Record<string, FitValue>>

/** How many bytes a value of a base type has, which value stands for nothing, and how it is read. */
type BaseType = {
  size: number
  nothing: number | bigint
  read: (view: DataView, offset: number, little: boolean) => number | bigint
}

const BASE_TYPES: ReadonlyMap<number, BaseType> = new Map<number, BaseType>([
  [0x00, unsigned8(0xff)], // enum
  [0x01, { size: 1, nothing: 0x7f, read: (view, at) => view.getInt8(at) }],
  [0x02, unsigned8(0xff)],
  [0x03, { size: 2, nothing: 0x7fff, read: (view, at, little) => view.getInt16(at, little) }],
  [0x04, { size: 2, nothing: 0xffff, read: (view, at, little) => view.getUint16(at, little) }],
  [0x05, { size: 4, nothing: 0x7fffffff, read: (view, at, little) => view.getInt32(at, little) }],
  [0x06, { size: 4, nothing: 0xffffffff, read: (view, at, little) => view.getUint32(at, little) }],
  // The bit patterns for no value are not numbers anyway.
  [0x08, { size: 4, nothing: Number.NaN, read: (view, at, little) => view.getFloat32(at, little) }],
  [0x09, { size: 8, nothing: Number.NaN, read: (view, at, little) => view.getFloat64(at, little) }],
  [0x0a, unsigned8(0)],
  [0x0b, { size: 2, nothing: 0, read: (view, at, little) => view.getUint16(at, little) }],
  [0x0c, { size: 4, nothing: 0, read: (view, at, little) => view.getUint32(at, little) }],
  [0x0e, { size: 8, nothing: 2n ** 63n - 1n, read: (view, at, little) => view.getBigInt64(at, little) }],
  [0x0f, { size: 8, nothing: 2n ** 64n - 1n, read: (view, at, little) => view.getBigUint64(at, little) }],
  [0x10, { size: 8, nothing: 0n, read: (view, at, little) => view.getBigUint64(at, little) }],
])
const STRING = 0x07
/** The type of bytes that nothing describes. */
export const BYTE = 0x0d
/** The upper bits of a base type say how its bytes are ordered. */
const TYPE_BITS = 0x1f

function unsigned8(nothing: number): BaseType {
  return { size: 1, nothing, read: (view, at) => view.getUint8(at) }
}

/**
 * Reads the fields of a message by their names in the profile, scaled to the profile's units; a field that the profile does not
 * know is `field_N` with its raw value. Fields without a value are left out, and the field with the number `except`.
 */
export function readFields(message: FitMessage, except?: number): FitFields {
  const { definition } = message
  const known = MESSAGES.get(definition.number)?.fields
  const fields: Record<string, FitValue> = {}
  for (const place of definition.fields) {
    if (place.number === except) continue
    const value = readFieldValue(message, place)
    if (value === undefined) continue
    const name = known?.get(place.number)?.name ?? `field_${place.number}`
    const first = fields[name]
    fields[name] = first === undefined ? value : [first, value].flat()
  }
  return fields
}

/** Reads a field of a message, see readFields: several values as a list; undefined when it has none. */
export function readFieldValue(message: FitMessage, place: Field): FitValue | undefined {
  const field = MESSAGES.get(message.definition.number)?.fields.get(place.number)
  const raw = readRaw(message, place)
  return (raw && (field ? scaleField(raw, field) : simplify(raw))) ?? undefined
}

/** Reads the first value of a field of a message if it is a number, else nothing. */
export function readFirst(message: FitMessage, number: number): number[] {
  const place = message.definition.fields.find((field) => field.number === number)
  const [raw] = (place && readRaw(message, place)) ?? []
  return typeof raw === 'number' ? [raw] : []
}

/** Returns the value of a field that has one in the profile: of several the first, of texts the first that is not empty. */
export function firstOf(value: FitValue | undefined): number | string | null {
  return (typeof value === 'object' ? value : [value]).find((one) => one !== '') ?? null
}

/** Whether a field has a base type of the protocol and a fitting size; other fields have no readable value. */
export function isReadable({ size, type }: Pick<Field, 'size' | 'type'>): boolean {
  const number = type & TYPE_BITS
  if (number === STRING || number === BYTE) return true
  const base = BASE_TYPES.get(number)
  return base !== undefined && size % base.size === 0
}

/** Returns how many bytes one value of a place has: all of them in a text, a list of bytes, and where the size does not fit. */
export function valueSizeOf({ size, type }: Pick<Field, 'size' | 'type'>): number {
  const base = BASE_TYPES.get(type & TYPE_BITS)
  return base && size % base.size === 0 ? Math.min(base.size, size) : size
}

/** Reads a number of a message at an offset, in the profile's unit; NaN where it stands for nothing. */
export type NumberReader = (view: DataView, offset: number, little: boolean) => number

/** Makes the reader of a number of `size` bytes; undefined for a field that holds something else. */
export function makeNumberReader(
  { size, type }: Pick<Field, 'size' | 'type'>,
  field: ProfileField | undefined,
): NumberReader | undefined {
  const base = BASE_TYPES.get(type & TYPE_BITS)
  if (!base || base.size !== size || typeof base.nothing === 'bigint' || field?.isTime) return undefined
  const { read, nothing } = base
  const { scale, offset: shift } = field ?? { scale: 1, offset: 0 }
  return (view, offset, little) => {
    const raw = read(view, offset, little)
    return raw === nothing || !Number.isFinite(raw) ? Number.NaN : Number(raw) / scale - shift
  }
}

const appReaders = new Map<number, NumberReader | undefined>()

/** The bytes of a message, and their order. */
type Bytes = { bytes: Uint8Array; definition: { little: boolean } }

/** Reads the value of a field of an app by its described type: a number, text or list, else its bytes; undefined when there is none. */
export function readAppField(
  message: Bytes,
  place: Pick<DeveloperField, 'offset' | 'size'>,
  described: number,
): FitValue | undefined {
  const { bytes, definition } = message
  const { offset, size } = place
  const type = isReadable({ size, type: described }) ? described : BYTE
  const key = type * 256 + size
  if (!appReaders.has(key)) appReaders.set(key, makeNumberReader({ size, type }, undefined))
  const read = appReaders.get(key)
  if (read) {
    const number = read(
      new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      offset,
      definition.little,
    )
    return Number.isNaN(number) ? undefined : number
  }
  const raw = readRaw(message, { offset, size, type })
  return (raw && simplify(raw)) ?? undefined
}

type RawValues = readonly (number | bigint | string | null)[]

/** Reads the raw values of a place in a message; undefined when all of them stand for nothing, or none can be read. */
function readRaw(
  { bytes, definition }: Bytes,
  { offset, size, type }: { offset: number; size: number; type: number },
): RawValues | undefined {
  const number = type & TYPE_BITS
  const part = bytes.subarray(offset, offset + size)
  if (number === STRING) {
    // A list of texts has a zero after each; some of them may be empty.
    const texts = new TextDecoder().decode(part).replaceAll('\ufffd', '').replace(/\0+$/, '')
    return texts === '' ? undefined : texts.split('\0')
  }
  // A byte list has no gaps: it stands for nothing only as a whole.
  if (number === BYTE) return part.every((byte) => byte === 0xff) ? undefined : [...part]
  const base = BASE_TYPES.get(number)
  if (!base || size === 0 || size % base.size !== 0) return undefined
  const view = new DataView(part.buffer, part.byteOffset, part.byteLength)
  const values: (number | bigint | null)[] = []
  for (let at = 0; at < size; at += base.size) {
    const value = base.read(view, at, definition.little)
    const isNothing = value === base.nothing || (typeof value === 'number' && !Number.isFinite(value))
    values.push(isNothing ? null : value)
  }
  return values.every((value) => value === null) ? undefined : values
}

function scaleField(raw: RawValues, field: ProfileField): FitValue | null {
  const { scale, offset, isList, isTime } = field
  const scaled = raw.map((value) => {
    if (typeof value === 'bigint') return plainOf(value)
    if (typeof value !== 'number') return value
    if (!isTime) return value / scale - offset
    // Below the first absolute time, the number counts seconds since the device was switched on and stays a number.
    return value < FIRST_ABSOLUTE_TIME ? value : dateOf(value).toISOString()
  })
  if (isList) return scaled
  const [first = null, ...more] = scaled
  // Devices leave old memory behind the end of a text.
  const isOne = typeof raw[0] === 'string' ? raw[0] !== '' : more.every((value) => value === null)
  return isOne ? first : scaled
}

function simplify(raw: RawValues): FitValue | null {
  const plain = raw.map((value) => (typeof value === 'bigint' ? plainOf(value) : value))
  return plain.length === 1 ? (plain[0] ?? null) : plain
}

function plainOf(value: bigint): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

export function dateOf(fitSeconds: number): Date {
  return new Date((fitSeconds + FIT_EPOCH_S) * 1_000)
}

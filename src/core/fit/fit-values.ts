import type { DeveloperField, Field, FitMessage } from './fit-walker.ts'
import { FIRST_ABSOLUTE_TIME, FIT_EPOCH_S } from './profile.ts'
import { MESSAGES, type ProfileField } from './profile-fields.ts'

/** A field's value. Text, integers beyond 2^53 and timestamps (ISO 8601, UTC) are strings. Missing values in a list are null. */
export type FitValue = number | string | readonly (number | string | null)[]
export type FitFields = Readonly<Record<string, FitValue>>

/** A base type: its size in bytes, the value that means no value, and how a value is read. */
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
  // The invalid bit patterns of floats are NaN.
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
/** The base type `byte`: bytes without a description. */
export const BYTE = 0x0d
/** Masks the upper bits of a base type, which give the byte order. */
const TYPE_BITS = 0x1f

function unsigned8(nothing: number): BaseType {
  return { size: 1, nothing, read: (view, at) => view.getUint8(at) }
}

/**
 * Reads the fields of a message by their names in the FIT profile, scaled to the units of the profile. A field that the profile does not
 * define is named `field_N` and has its raw value. Leaves out fields without a value, and the field with number `except`.
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

/** Reads a field of a message as readFields does. Returns several values as a list; undefined if the field has no value. */
export function readFieldValue(message: FitMessage, place: Field): FitValue | undefined {
  const field = MESSAGES.get(message.definition.number)?.fields.get(place.number)
  const raw = readRaw(message, place)
  return (raw && (field ? scaleField(raw, field) : simplify(raw))) ?? undefined
}

/** Reads the first value of a field. Returns a list that holds it if it is a number, otherwise an empty list. */
export function readFirst(message: FitMessage, number: number): number[] {
  const place = message.definition.fields.find((field) => field.number === number)
  const [raw] = (place && readRaw(message, place)) ?? []
  return typeof raw === 'number' ? [raw] : []
}

/** Returns a field's first value, skipping empty strings; null if there is none. */
export function firstOf(value: FitValue | undefined): number | string | null {
  return (typeof value === 'object' ? value : [value]).find((one) => one !== '') ?? null
}

/** Reports whether a field has a known base type and a size that fits it. Other fields cannot be read. */
export function isReadable({ size, type }: Pick<Field, 'size' | 'type'>): boolean {
  const number = type & TYPE_BITS
  if (number === STRING || number === BYTE) return true
  const base = BASE_TYPES.get(number)
  return base !== undefined && size % base.size === 0
}

/** Returns the bytes of one value of a field: all bytes if the field is a string or a list of bytes, or if its size is wrong. */
export function valueSizeOf({ size, type }: Pick<Field, 'size' | 'type'>): number {
  const base = BASE_TYPES.get(type & TYPE_BITS)
  return base && size % base.size === 0 ? Math.min(base.size, size) : size
}

/** Reads a number at an offset of a message, in the unit of the profile; NaN for the invalid value. */
export type NumberReader = (view: DataView, offset: number, little: boolean) => number

/** Makes the reader of a number of `size` bytes; undefined if the field holds anything else. */
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

/** The bytes of a message, and their byte order. */
type Bytes = { bytes: Uint8Array; definition: { little: boolean } }

/** Reads a developer field by its described type, or its bytes if they do not fit the type; undefined without a value. */
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

/** Reads the raw values of a field; undefined if none can be read or all are invalid. */
function readRaw(
  { bytes, definition }: Bytes,
  { offset, size, type }: { offset: number; size: number; type: number },
): RawValues | undefined {
  const number = type & TYPE_BITS
  const part = bytes.subarray(offset, offset + size)
  if (number === STRING) {
    // In a list of strings a zero byte follows each string. Texts may be empty.
    const texts = new TextDecoder().decode(part).replaceAll('\ufffd', '').replace(/\0+$/, '')
    return texts === '' ? undefined : texts.split('\0')
  }
  // A list of bytes has no gaps: only all bytes together can be invalid.
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
    // Below the first absolute time, a value counts seconds since the device was switched on and stays a number.
    return value < FIRST_ABSOLUTE_TIME ? value : dateOf(value).toISOString()
  })
  if (isList) return scaled
  const [first = null, ...more] = scaled
  // Some devices leave old memory after the end of a string.
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

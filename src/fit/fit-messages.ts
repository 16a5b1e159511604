import { NO_TIME, TIMESTAMP } from './profile.ts'

/** Reads bytes: yields how many of the next ones it needs, and is given fewer only at the end of the file. */
export type ByteReader<T> = Generator<number, T, Uint8Array>

/** One message of a FIT file, valid until the next one. `time` is in seconds as FIT counts them, null when it has none. */
export type FitMessage = { number: number; time: number | null; bytes: Uint8Array; definition: Definition }

type Field = { number: number; offset: number; size: number }
type Definition = { number: number; little: boolean; size: number; fields: Field[] }

/**
 * Walks over the `dataSize` bytes of messages of one FIT part (FIT protocol, "Record Format") and calls `onMessage` with each
 * data message. Returns whether it reached the end; it stops at bytes that do not follow the protocol. Developer fields are
 * skipped.
 */
export function* walkMessages(
  dataSize: number,
  onMessage: (message: FitMessage) => void,
): ByteReader<boolean> {
  const definitions = new Map<number, Definition>()
  let clock = 0
  let left = dataSize
  while (left > 0) {
    const header = (yield 1)[0]
    if (header === undefined) return false
    left -= 1
    if ((header & 0xc0) === 0x40) {
      const read = yield* readDefinition(left, (header & 0x20) !== 0)
      if (!read) return false
      definitions.set(header & 0x0f, read.definition)
      left -= read.bytes
      continue
    }
    const compressed = (header & 0x80) !== 0
    const definition = definitions.get(compressed ? (header >> 5) & 0x03 : header & 0x0f)
    if (!definition || definition.size > left) return false
    const bytes = yield definition.size
    if (bytes.length < definition.size) return false
    left -= definition.size
    const message: FitMessage = { number: definition.number, time: null, bytes, definition }
    const stamp = readNumber(message, TIMESTAMP, 4)
    const stamped = stamp !== undefined && stamp !== NO_TIME
    if (stamped) clock = stamp
    // A compressed header carries the low five bits of the time, counted on from the last whole one.
    else if (compressed) clock += ((header & 0x1f) - clock) & 0x1f
    if (stamped || compressed) message.time = clock
    onMessage(message)
  }
  return true
}

/** Reads a field of a message as an unsigned number; undefined when the message has no such field of `size` bytes. */
export function readNumber(
  { bytes, definition }: FitMessage,
  number: number,
  size: 1 | 2 | 4,
): number | undefined {
  const field = definition.fields.find((each) => each.number === number && each.size === size)
  if (!field) return undefined
  if (size === 1) return bytes[field.offset]
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return size === 2
    ? view.getUint16(field.offset, definition.little)
    : view.getUint32(field.offset, definition.little)
}

function* readDefinition(
  left: number,
  withDeveloperFields: boolean,
): ByteReader<{ definition: Definition; bytes: number } | undefined> {
  if (left < 5) return undefined
  const fixed = yield 5
  const [, endian, low = 0, high = 0, count = 0] = fixed
  const little = endian === 0
  let bytes = 5 + count * 3
  if (fixed.length < 5 || bytes > left) return undefined
  const places = yield count * 3
  if (places.length < count * 3) return undefined
  const fields: Field[] = []
  let size = 0
  for (let i = 0; i < places.length; i += 3) {
    const field = { number: places[i] ?? 0, offset: size, size: places[i + 1] ?? 0 }
    fields.push(field)
    size += field.size
  }
  if (withDeveloperFields) {
    const developerFields = bytes < left ? (yield 1)[0] : undefined
    if (developerFields === undefined) return undefined
    bytes += 1 + developerFields * 3
    if (bytes > left) return undefined
    const more = yield developerFields * 3
    if (more.length < developerFields * 3) return undefined
    for (let i = 0; i < more.length; i += 3) size += more[i + 1] ?? 0
  }
  const number = little ? low | (high << 8) : (low << 8) | high
  return { definition: { number, little, size, fields }, bytes }
}

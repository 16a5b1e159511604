import { NO_TIME, TIMESTAMP } from './profile.ts'

/** Why bytes are not a whole FIT file. `not_fit`: they can never become a FIT file. */
type WalkFault =
  | 'empty'
  | 'reserved'
  | 'growing'
  | 'incomplete'
  | 'bad_checksum'
  | 'not_fit'
  | 'too_many_parts'

/**
 * The whole parts at the start of a file, their total length in bytes, and why the bytes after them are not another part; `fault` is null
 * if no bytes follow. `padding`: those bytes are zeros or shorter than a header, so they hold no activity. `isBehind`: they are not FIT and
 * follow a whole part.
 */
export type FitWalk<Part> = {
  parts: Part[]
  wholeBytes: number
  fault: { code: WalkFault; reason: string; padding: boolean; isBehind: boolean } | null
}

/** Reads one part of a file: receives each of its messages, and returns its content at the end. */
export type PartReader<Part> = {
  onMessage(message: FitMessage): void
  /** `complete`: whether all messages up to the declared end were read. */
  end(complete: boolean): Part
}

/** The header lengths of the protocol, bytes: without and with a checksum. */
export const HEADER_SIZES: readonly number[] = [12, 14]
const MIN_HEADER = 12
const CRC_BYTES = 2
/** Size of the pieces in which bytes are read that only the checksum needs, bytes. */
const PIECE_BYTES = 64 * 1_024
/** Maximum number of chained parts. A device chains a few; a small file with a million empty parts would block the process for seconds. */
const MAX_PARTS = 500
/** Maximum number of remembered definitions. A device has some dozens, but a hostile file may consist of definitions. */
const MAX_SEEN = 500
const NOTHING: Uint8Array = new Uint8Array()

/**
 * Makes a walker over the FIT parts chained in one file (FIT protocol, "Chained FIT Files"). It reads the bytes piece by piece and checks
 * header, declared length and checksum of each part. A file of any size needs no more memory than a piece and the longest message. Never
 * throws because of the bytes.
 */
export function makeFitWalker<Part>(openPart: () => PartReader<Part>) {
  const walk = walkFit(openPart)
  let step = walk.next()
  let held: Uint8Array = NOTHING
  const feed = (isEnd: boolean) => {
    let place = 0
    while (!step.done && (isEnd || held.length - place >= step.value)) {
      const bytes = held.subarray(place, place + step.value)
      place += bytes.length
      step = walk.next(bytes)
    }
    held = held.subarray(place)
  }
  return {
    /** Reads the next bytes. Returns false if further bytes cannot change the result. */
    push(bytes: Uint8Array): boolean {
      held = held.length === 0 ? bytes : Buffer.concat([held, bytes])
      feed(false)
      return !step.done
    },
    end(): FitWalk<Part> {
      feed(true)
      if (!step.done) throw new Error('the walk ends with its bytes')
      return step.value
    },
  }
}

function* walkFit<Part>(openPart: () => PartReader<Part>): ByteReader<FitWalk<Part>> {
  const parts: Part[] = []
  let wholeBytes = 0
  const stop = (code: WalkFault, reason: string, padding = false, isBehind = false): FitWalk<Part> => ({
    parts,
    wholeBytes,
    fault: { code, reason, padding, isBehind },
  })
  for (;;) {
    const first = yield 1
    const size = first[0]
    if (size === undefined) {
      return parts.length > 0 ? { parts, wholeBytes, fault: null } : stop('empty', 'the file is empty')
    }
    if (!HEADER_SIZES.includes(size)) {
      if (parts.length > 0) return stop(...faultOfRest(yield* readRest(first)))
      // A network share that reserves space first, or writes the header last, shows zeros in place of the header.
      if (size === 0) return stop('reserved', 'it holds zeros where its header belongs')
      return stop('not_fit', 'it does not start with a FIT header')
    }
    if (parts.length === MAX_PARTS) {
      return stop('too_many_parts', `it holds more than ${MAX_PARTS} chained FIT files`)
    }
    const more = yield size - 1
    const isOther = more.length >= MIN_HEADER - 1 && String.fromCharCode(...more.subarray(7, 11)) !== '.FIT'
    if (more.length < size - 1 && !isOther) return stop('incomplete', 'it ends inside a header')
    if (isOther && parts.length > 0)
      return stop(...faultOfRest(yield* readRest(Uint8Array.of(size, ...more))))
    const header = Uint8Array.of(size, ...more)
    const dataSize = new DataView(header.buffer).getUint32(4, true)
    // Devices write the length when the ride ends; until then it is zero.
    if (dataSize === 0 && parts.length === 0) {
      return stop('growing', 'its header has no length yet, as in a file that is still being recorded')
    }
    if (isOther) return stop('not_fit', 'it does not start with a FIT header')
    const part = openPart()
    const end = yield* readPart({ header, dataSize }, part)
    if (typeof end === 'number') return stop('incomplete', `${end} bytes are missing at its end`)
    if (end === 'bad_checksum') {
      const which = parts.length === 0 ? 'its checksum' : `the checksum of part ${parts.length + 1}`
      return stop('bad_checksum', `${which} is wrong: its bytes are damaged or not written yet`)
    }
    parts.push(part.end(end === 'complete'))
    wholeBytes += size + dataSize + CRC_BYTES
  }
}

/** Reads the messages and the checksum of a part. Returns how many bytes are missing if the part is truncated. */
function* readPart(
  { header, dataSize }: { header: Uint8Array; dataSize: number },
  { onMessage }: PartReader<unknown>,
): ByteReader<'complete' | 'unreadable' | 'bad_checksum' | number> {
  let crc = fitCrc(0, header)
  let left = dataSize + CRC_BYTES
  function* counted<T>(reader: ByteReader<T>): ByteReader<T> {
    for (let step = reader.next(); ; ) {
      if (step.done) return step.value
      const bytes = yield step.value
      crc = fitCrc(crc, bytes)
      left -= bytes.length
      step = reader.next(bytes)
    }
  }
  const complete = yield* counted(walkMessages(dataSize, onMessage))
  while (left > 0) {
    const wanted = Math.min(left, PIECE_BYTES)
    const piece = yield wanted
    crc = fitCrc(crc, piece)
    left -= piece.length
    if (piece.length < wanted) return left
  }
  if (crc !== 0 || !isHeaderRight(header)) return 'bad_checksum'
  return complete ? 'complete' : 'unreadable'
}

/** In a header of 14 bytes the checksum may be zero, which means none. */
function isHeaderRight(header: Uint8Array): boolean {
  if (header.length === MIN_HEADER) return true
  const own = (header[12] ?? 0) | ((header[13] ?? 0) << 8)
  return own === 0 || own === fitCrc(0, header.subarray(0, 12))
}

type Fault = [code: WalkFault, reason: string, padding?: boolean, isBehind?: boolean]

function faultOfRest(rest: Rest): Fault {
  if (rest.isBlank) return ['reserved', `${rest.bytes} zero bytes follow the end of the FIT file`, true]
  if (rest.bytes < MIN_HEADER) {
    const bytes = rest.bytes === 1 ? '1 byte follows' : `${rest.bytes} bytes follow`
    return ['incomplete', `${bytes} the end of the FIT file`, true]
  }
  return ['not_fit', `${rest.bytes} bytes that are not FIT follow the end of the FIT file`, false, true]
}

type Rest = { bytes: number; isBlank: boolean }

function* readRest(first: Uint8Array): ByteReader<Rest> {
  const rest = { bytes: 0, isBlank: true }
  for (let piece = first; ; piece = yield PIECE_BYTES) {
    rest.bytes += piece.length
    rest.isBlank &&= piece.every((byte) => byte === 0)
    if (piece !== first && piece.length < PIECE_BYTES) return rest
  }
}

/** The FIT checksum of each possible byte: CRC-16 with the reflected polynomial 0xA001. */
const CRC_TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >> 1) ^ 0xa001 : crc >> 1
  return crc
})

/** Continues a FIT checksum over more bytes. It starts at 0, and is 0 again after a part that ends in its correct checksum. */
export function fitCrc(crc: number, bytes: Uint8Array): number {
  let sum = crc
  for (let i = 0; i < bytes.length; i++) sum = (sum >> 8) ^ (CRC_TABLE[(sum ^ (bytes[i] ?? 0)) & 0xff] ?? 0)
  return sum
}

/** A reader that yields how many bytes it needs next. It gets fewer only at the end of the file. */
type ByteReader<T> = Generator<number, T, Uint8Array>

/** One message of a FIT file, valid until the next message is read. `time` is in FIT seconds, null without a timestamp. */
export type FitMessage = { number: number; time: number | null; bytes: Uint8Array; definition: Definition }

/** Where a field lies in the bytes of a message. `type` is its base type (FIT protocol, "Base Types"). */
export type Field = { number: number; offset: number; size: number; type: number }
/** A developer field: a field that an app describes in the file. */
export type DeveloperField = { number: number; offset: number; size: number; developer: number }
type Definition = {
  number: number
  little: boolean
  size: number
  fields: Field[]
  developerFields: DeveloperField[]
}

/**
 * Walks over the `dataSize` bytes of messages of one FIT part (FIT protocol, "Record Format") and calls `onMessage` with each data message.
 * Returns whether it reached the end: it stops at bytes that violate the protocol.
 */
function* walkMessages(dataSize: number, onMessage: (message: FitMessage) => void): ByteReader<boolean> {
  const definitions = new Map<number, Definition>()
  const seen = new Map<string, Definition>()
  let clock = 0
  let left = dataSize
  while (left > 0) {
    const header = (yield 1)[0]
    if (header === undefined) return false
    left -= 1
    if ((header & 0xc0) === 0x40) {
      const read = yield* readDefinition(left, (header & 0x20) !== 0, seen)
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
    // A compressed header holds the low five bits of the time, relative to the last full timestamp.
    else if (compressed) clock += ((header & 0x1f) - clock) & 0x1f
    if (stamped || compressed) message.time = clock
    onMessage(message)
  }
  return true
}

/** Reads a field of a message as an unsigned number; undefined if the message has no such field of `size` bytes. */
export function readNumber({ bytes, definition }: FitMessage, number: number, size: 1 | 2 | 4) {
  const field = definition.fields.find((each) => each.number === number && each.size === size)
  if (!field) return undefined
  if (size === 1) return bytes[field.offset]
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return size === 2
    ? view.getUint16(field.offset, definition.little)
    : view.getUint32(field.offset, definition.little)
}

/** Reads a definition. `seen`: earlier definitions by their bytes, because some devices repeat a few before nearly every message. */
function* readDefinition(
  left: number,
  withDeveloperFields: boolean,
  seen: Map<string, Definition>,
): ByteReader<{ definition: Definition; bytes: number } | undefined> {
  if (left < 5) return undefined
  const fixed = yield 5
  const count = fixed[4] ?? 0
  let bytes = 5 + count * 3
  if (fixed.length < 5 || bytes > left) return undefined
  const places = yield count * 3
  if (places.length < count * 3) return undefined
  let more = NOTHING
  if (withDeveloperFields) {
    const count = bytes < left ? (yield 1)[0] : undefined
    if (count === undefined) return undefined
    bytes += 1 + count * 3
    if (bytes > left) return undefined
    more = yield count * 3
    if (more.length < count * 3) return undefined
  }
  const key = [fixed, places, more].map((part) => Buffer.from(part).toString('latin1')).join('')
  const known = seen.get(key)
  if (known) return { definition: known, bytes }
  if (seen.size === MAX_SEEN) seen.clear()
  const definition = parseDefinition(fixed, places, more)
  seen.set(key, definition)
  return { definition, bytes }
}

function parseDefinition(fixed: Uint8Array, places: Uint8Array, more: Uint8Array): Definition {
  const [, endian, low = 0, high = 0] = fixed
  const little = endian === 0
  const fields: Field[] = []
  let size = 0
  for (let i = 0; i < places.length; i += 3) {
    const field = { number: places[i] ?? 0, offset: size, size: places[i + 1] ?? 0, type: places[i + 2] ?? 0 }
    fields.push(field)
    size += field.size
  }
  const developerFields: DeveloperField[] = []
  for (let i = 0; i < more.length; i += 3) {
    const [number = 0, bytesOfField = 0, developer = 0] = more.subarray(i, i + 3)
    developerFields.push({ number, offset: size, size: bytesOfField, developer })
    size += bytesOfField
  }
  const number = little ? low | (high << 8) : (low << 8) | high
  return { number, little, size, fields, developerFields }
}

/** What the judge needs from one FIT part. Times are seconds as FIT counts them; null and empty where nothing says. */
export type FitFacts = {
  fileType: number | null
  createdAt: number | null
  sessionStarts: number[]
  sessions: number
  sports: number[]
  records: number
  firstRecordAt: number | null
  lastRecordAt: number | null
  /** whether every message could be walked through to the declared end */
  complete: boolean
}

type Field = { number: number; offset: number; size: number }
type Definition = { message: number; little: boolean; size: number; fields: Field[] }
/** Asks for so many of the next bytes, and gets fewer only where the data ends. */
export type Asking<T> = Generator<number, T, Uint8Array>

/** Numbers of messages and fields as the FIT profile fixes them. */
const FILE_ID = { message: 0, type: 0, createdAt: 4 }
const SPORT = { message: 12, sport: 0 }
const SESSION = { message: 18, startedAt: 2, sport: 5 }
const RECORD = { message: 20 }
const TIMESTAMP = 253

/** Below this a FIT time counts seconds since the device was switched on, and names no date. */
const FIRST_ABSOLUTE_TIME = 0x10000000
const NO_TIME = 0xffffffff
const NO_ENUM = 0xff
/** A hostile file may hold nothing but sessions; an activity has a few. */
const MOST_SESSIONS = 1_000

/**
 * Reads the few facts that tell an activity from other FIT files, by walking over the `dataSize` bytes of messages of one
 * part. The kit's decoder is not asked: it throws on types and fields it does not know, which real devices write, wants the
 * whole file in memory, and builds every message of a file of which five fields matter. Never throws; what cannot be
 * walked ends with `complete: false`, and the bytes behind it are asked for no more.
 */
export function* readFitFacts(dataSize: number): Asking<FitFacts> {
  const facts: FitFacts = {
    fileType: null,
    createdAt: null,
    sessionStarts: [],
    sessions: 0,
    sports: [],
    records: 0,
    firstRecordAt: null,
    lastRecordAt: null,
    complete: false,
  }
  const definitions = new Map<number, Definition>()
  let clock = 0
  let left = dataSize
  while (left > 0) {
    const header = (yield 1)[0]
    if (header === undefined) return facts
    left -= 1
    if ((header & 0xc0) === 0x40) {
      const read = yield* readDefinition(left, (header & 0x20) !== 0)
      if (!read) return facts
      definitions.set(header & 0x0f, read.definition)
      left -= read.bytes
      continue
    }
    const compressed = (header & 0x80) !== 0
    const definition = definitions.get(compressed ? (header >> 5) & 0x03 : header & 0x0f)
    if (!definition || definition.size > left) return facts
    const message = yield definition.size
    if (message.length < definition.size) return facts
    left -= definition.size
    const stamp = timeOf(message, definition, TIMESTAMP)
    if (stamp !== null) clock = stamp
    // A compressed header carries the low five bits of the time, counted on from the last whole one.
    else if (compressed) clock += ((header & 0x1f) - clock) & 0x1f
    collect(facts, { message, definition, time: stamp ?? (compressed ? clock : null) })
  }
  facts.complete = true
  return facts
}

function* readDefinition(
  left: number,
  withDeveloperFields: boolean,
): Asking<{ definition: Definition; bytes: number } | undefined> {
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
  const message = little ? low | (high << 8) : (low << 8) | high
  return { definition: { message, little, size, fields }, bytes }
}

function collect(
  facts: FitFacts,
  at: { message: Uint8Array; definition: Definition; time: number | null },
): void {
  const { message, definition, time } = at
  if (definition.message === RECORD.message) {
    facts.records += 1
    if (time === null || time < FIRST_ABSOLUTE_TIME) return
    facts.firstRecordAt = Math.min(facts.firstRecordAt ?? time, time)
    facts.lastRecordAt = Math.max(facts.lastRecordAt ?? time, time)
  } else if (definition.message === SESSION.message) {
    facts.sessions += 1
    if (facts.sessions > MOST_SESSIONS) return
    const start = timeOf(message, definition, SESSION.startedAt)
    if (start !== null && start >= FIRST_ABSOLUTE_TIME) facts.sessionStarts.push(start)
    addSport(facts, enumOf(message, definition, SESSION.sport))
  } else if (definition.message === SPORT.message) {
    addSport(facts, enumOf(message, definition, SPORT.sport))
  } else if (definition.message === FILE_ID.message) {
    facts.fileType ??= enumOf(message, definition, FILE_ID.type)
    facts.createdAt ??= timeOf(message, definition, FILE_ID.createdAt)
  }
}

function addSport(facts: FitFacts, sport: number | null): void {
  if (sport !== null && !facts.sports.includes(sport)) facts.sports.push(sport)
}

function timeOf(message: Uint8Array, definition: Definition, number: number): number | null {
  const field = definition.fields.find((each) => each.number === number && each.size === 4)
  if (!field) return null
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength)
  const value = view.getUint32(field.offset, definition.little)
  return value === NO_TIME ? null : value
}

function enumOf(message: Uint8Array, definition: Definition, number: number): number | null {
  const field = definition.fields.find((each) => each.number === number && each.size === 1)
  const value = field && message[field.offset]
  return value === undefined || value === NO_ENUM ? null : value
}

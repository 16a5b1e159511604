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

/**
 * Reads the few facts that tell an activity from other FIT files, by walking over the messages of one checked part.
 * The kit's decoder is not asked: it throws on types and fields it does not know, which real devices write, and builds
 * every message of a file of which five fields matter. Never throws; what cannot be walked ends with `complete: false`.
 */
export function readFitFacts(part: Uint8Array): FitFacts {
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
  const view = new DataView(part.buffer, part.byteOffset, part.byteLength)
  const definitions = new Map<number, Definition>()
  let clock = 0
  let place = view.getUint8(0)
  const end = place + view.getUint32(4, true)
  while (place < end) {
    const header = view.getUint8(place)
    place += 1
    if ((header & 0xc0) === 0x40) {
      const read = readDefinition(view, place, end, (header & 0x20) !== 0)
      if (!read) return facts
      definitions.set(header & 0x0f, read.definition)
      place = read.next
      continue
    }
    const compressed = (header & 0x80) !== 0
    const definition = definitions.get(compressed ? (header >> 5) & 0x03 : header & 0x0f)
    if (!definition || place + definition.size > end) return facts
    const stamp = timeAt(view, place, definition, TIMESTAMP)
    if (stamp !== null) clock = stamp
    // A compressed header carries the low five bits of the time, counted on from the last whole one.
    else if (compressed) clock += ((header & 0x1f) - clock) & 0x1f
    collect(facts, { view, place, definition, time: stamp ?? (compressed ? clock : null) })
    place += definition.size
  }
  facts.complete = place === end
  return facts
}

function readDefinition(
  view: DataView,
  start: number,
  end: number,
  withDeveloperFields: boolean,
): { definition: Definition; next: number } | undefined {
  if (start + 5 > end) return undefined
  const little = view.getUint8(start + 1) === 0
  const message = view.getUint16(start + 2, little)
  const count = view.getUint8(start + 4)
  let place = start + 5
  if (place + count * 3 > end) return undefined
  const fields: Field[] = []
  let size = 0
  for (let i = 0; i < count; i++, place += 3) {
    const field = { number: view.getUint8(place), offset: size, size: view.getUint8(place + 1) }
    fields.push(field)
    size += field.size
  }
  if (withDeveloperFields) {
    if (place >= end) return undefined
    const developerFields = view.getUint8(place)
    place += 1
    if (place + developerFields * 3 > end) return undefined
    for (let i = 0; i < developerFields; i++, place += 3) size += view.getUint8(place + 1)
  }
  return { definition: { message, little, size, fields }, next: place }
}

function collect(
  facts: FitFacts,
  at: { view: DataView; place: number; definition: Definition; time: number | null },
): void {
  const { view, place, definition, time } = at
  if (definition.message === RECORD.message) {
    facts.records += 1
    if (time === null || time < FIRST_ABSOLUTE_TIME) return
    facts.firstRecordAt = Math.min(facts.firstRecordAt ?? time, time)
    facts.lastRecordAt = Math.max(facts.lastRecordAt ?? time, time)
  } else if (definition.message === SESSION.message) {
    facts.sessions += 1
    const start = timeAt(view, place, definition, SESSION.startedAt)
    if (start !== null && start >= FIRST_ABSOLUTE_TIME) facts.sessionStarts.push(start)
    addSport(facts, enumAt(view, place, definition, SESSION.sport))
  } else if (definition.message === SPORT.message) {
    addSport(facts, enumAt(view, place, definition, SPORT.sport))
  } else if (definition.message === FILE_ID.message) {
    facts.fileType ??= enumAt(view, place, definition, FILE_ID.type)
    facts.createdAt ??= timeAt(view, place, definition, FILE_ID.createdAt)
  }
}

function addSport(facts: FitFacts, sport: number | null): void {
  if (sport !== null) facts.sports.push(sport)
}

function timeAt(view: DataView, place: number, definition: Definition, number: number): number | null {
  const field = definition.fields.find((each) => each.number === number && each.size === 4)
  if (!field) return null
  const value = view.getUint32(place + field.offset, definition.little)
  return value === NO_TIME ? null : value
}

function enumAt(view: DataView, place: number, definition: Definition, number: number): number | null {
  const field = definition.fields.find((each) => each.number === number && each.size === 1)
  if (!field) return null
  const value = view.getUint8(place + field.offset)
  return value === NO_ENUM ? null : value
}

import { dateOf, type FitFields, type FitValue, readFields, readRaw } from './fit-values.ts'
import { type FitMessage, type FitWalk, makeFitWalker } from './fit-walker.ts'
import {
  ACTIVITY,
  DEVELOPER_DATA_ID,
  DEVICE_INFO,
  FIELD_DESCRIPTION,
  FILE_CREATOR,
  FILE_ID,
  FIRST_ABSOLUTE_TIME,
  FIT_EPOCH_S,
  LAP,
  RECORD,
  SESSION,
} from './profile.ts'
import { MESSAGES } from './profile-fields.ts'

/** The fields of a message, and those that apps added to it, by their own names. */
export type FitMessageFields = { fields: FitFields; developerFields: FitFields }

/**
 * A field that an app describes in the file, and its numbers in the records; `times` are seconds since 1970. `app`: the message that
 * names the app, when there is one.
 */
export type DescribedField = {
  developer: number
  number: number
  type: number
  fields: FitFields
  app: FitFields | undefined
  times: number[]
  values: number[]
}

/**
 * What a FIT file says beside its records. `head`: the first message of each kind that describes the file, by the profile's name.
 * `devices` has every message of a device. `problem`: why not all of it was read.
 */
export type FitContents = {
  parts: number
  records: number
  startedAt: Date | null
  endedAt: Date | null
  head: Readonly<Record<string, FitFields>>
  sessions: FitMessageFields[]
  laps: FitMessageFields[]
  devices: FitMessageFields[]
  described: DescribedField[]
  problem: string | null
}

/** A day of riding has a few hundred messages of these kinds; a hostile file may hold nothing else. */
const MOST_MESSAGES = 20_000
/** The values of 20 fields in each second of a day. */
const MOST_VALUES = 2_000_000

/** Messages that describe the file; the first of each kind counts. */
const HEAD: readonly number[] = [FILE_ID.message, FILE_CREATOR.message, ACTIVITY.message]

/**
 * Reads what a FIT file says beside its records: file, sessions, laps, devices, and the fields that apps added. Chained parts are
 * read one after the other. Of a file that is cut or damaged it reads what can be read, and `problem` says why not more. Never
 * throws.
 */
export function readContents(bytes: Uint8Array): FitContents {
  const reader = makeContentsReader()
  const walker = makeFitWalker(() => {
    reader.openPart()
    return { onMessage: reader.onMessage, end: (complete: boolean) => complete }
  })
  walker.push(bytes)
  return reader.end(walker.end())
}

function makeContentsReader() {
  const head: Record<string, FitFields> = {}
  const lists = { sessions: [], laps: [], devices: [] } as Pick<FitContents, 'sessions' | 'laps' | 'devices'>
  const described: DescribedField[] = []
  const times = { firstStart: Number.POSITIVE_INFINITY, first: Number.POSITIVE_INFINITY, last: 0 }
  const counts = { records: 0, messages: 0, values: 0, leftOut: 0 }
  let apps = new Map<number, FitFields>()
  let current = new Map<number, DescribedField>()

  const read = (message: FitMessage): FitMessageFields => ({
    fields: readFields(message),
    developerFields: readDeveloperFields(message, current),
  })
  const onRecord = (message: FitMessage) => {
    const { time } = message
    counts.records += 1
    const isDated = time !== null && time >= FIRST_ABSOLUTE_TIME
    if (isDated) {
      times.first = Math.min(times.first, time)
      times.last = time
    }
    for (const place of message.definition.developerFields) {
      const field = current.get(keyOf(place.developer, place.number))
      const value = field && readRaw(message, { ...place, type: field.type })?.[0]
      if (!field || value === undefined || value === null || typeof value === 'string' || !isDated) continue
      if (counts.values >= MOST_VALUES) counts.leftOut += 1
      else {
        counts.values += 1
        field.times.push(time + FIT_EPOCH_S)
        field.values.push(Number(value))
      }
    }
  }
  const onDescription = (message: FitMessage) => {
    const fields = readFields(message)
    const { developerDataIndex: developer, fieldDefinitionNumber: number, fitBaseTypeId: type } = fields
    if (typeof developer !== 'number' || typeof number !== 'number' || typeof type !== 'number') return
    const field = { developer, number, type, fields, app: apps.get(developer), times: [], values: [] }
    current.set(keyOf(developer, number), field)
    described.push(field)
  }
  const onMessage = (message: FitMessage) => {
    const { number } = message
    if (number === RECORD.message) return onRecord(message)
    const list = summariesOf(lists, number)
    const isHead = HEAD.includes(number)
    const isOfApps = number === FIELD_DESCRIPTION.message || number === DEVELOPER_DATA_ID.message
    if (!list && !isHead && !isOfApps) return
    counts.messages += 1
    if (counts.messages > MOST_MESSAGES) counts.leftOut += 1
    else if (number === FIELD_DESCRIPTION.message) onDescription(message)
    else if (isOfApps) {
      const fields = readFields(message)
      if (typeof fields.developerDataIndex === 'number') apps.set(fields.developerDataIndex, fields)
    } else if (list) {
      const made = read(message)
      list.push(made)
      const start = number === SESSION.message ? made.fields.startTime : undefined
      if (typeof start === 'string') times.firstStart = Math.min(times.firstStart, Date.parse(start))
    } else head[MESSAGES.get(number)?.name ?? ''] ??= readFields(message)
  }
  return {
    openPart() {
      apps = new Map()
      current = new Map()
    },
    onMessage,
    end({ parts, fault }: FitWalk<boolean>): FitContents {
      const { records, leftOut } = counts
      const { firstStart, first, last } = times
      const firstRecord = Number.isFinite(first) ? dateOf(first) : null
      const problems: string[] = []
      if (fault && !fault.padding) problems.push(fault.reason)
      else if (parts.includes(false))
        problems.push('its messages cannot be read to the end, although its checksum is right')
      if (leftOut > 0) problems.push(`${leftOut} messages or values of it are more than any device writes`)
      return {
        parts: parts.length,
        records,
        startedAt: Number.isFinite(firstStart) ? new Date(firstStart) : firstRecord,
        endedAt: last > 0 ? dateOf(last) : null,
        head,
        ...lists,
        described,
        problem: problems.length > 0 ? problems.join('; ') : null,
      }
    },
  }
}

function summariesOf<T>(lists: { sessions: T; laps: T; devices: T }, number: number): T | undefined {
  if (number === SESSION.message) return lists.sessions
  if (number === LAP.message) return lists.laps
  return number === DEVICE_INFO.message ? lists.devices : undefined
}

function keyOf(developer: number, number: number): number {
  return developer * 256 + number
}

/**
 * Reads the fields that apps added to a message, by the names of their descriptions. Two of one name, as of two sensors of a kind, stay
 * apart: the second is named with the numbers of its app and its field, too.
 */
function readDeveloperFields(message: FitMessage, described: ReadonlyMap<number, DescribedField>): FitFields {
  const fields: Record<string, FitValue> = {}
  for (const place of message.definition.developerFields) {
    const field = described.get(keyOf(place.developer, place.number))
    const raw = field && readRaw(message, { ...place, type: field.type })
    if (!field || !raw) continue
    const plain = raw.map((value) => (typeof value === 'bigint' ? String(value) : value))
    const [first] = plain
    if (first === null || first === undefined) continue
    const name = String(field.fields.fieldName ?? 'field')
    const isFirst = field.fields.fieldName !== undefined && !Object.hasOwn(fields, name)
    fields[isFirst ? name : `${name}_${place.developer}_${place.number}`] = plain.length === 1 ? first : plain
  }
  return fields
}

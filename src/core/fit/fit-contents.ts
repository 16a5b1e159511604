import { recordsReader } from './fit-records.ts'
import {
  BYTE,
  dateOf,
  type FitFields,
  type FitValue,
  firstOf,
  isReadable,
  readAppField,
  readFields,
} from './fit-values.ts'
import { type DeveloperField, type FitMessage, type FitWalk, makeFitWalker } from './fit-walker.ts'
import { beatsReader } from './heart-beats.ts'
import {
  ACTIVITY,
  DEVELOPER_DATA_ID,
  DEVICE_INFO,
  EVENT,
  FIELD_DESCRIPTION,
  FILE_CREATOR,
  FILE_ID,
  FIRST_ABSOLUTE_TIME,
  FIT_EPOCH_S,
  HR,
  LAP,
  RECORD,
  SESSION,
  TIMESTAMP,
} from './profile.ts'
import { MESSAGES } from './profile-fields.ts'

/** The fields of a message, and the fields that apps added to it, by name. */
export type FitMessageFields = { fields: FitFields; developerFields: FitFields }

/**
 * A field that an app describes in the file (a developer field). `records` and `values`: its values in records, each with its record number
 * from 1. `app`: the message that names the app, if any. If nothing describes the field, its values are bytes and `fields` is empty.
 */
export type DescribedField = {
  developer: number
  number: number
  type: number
  fields: FitFields
  app: FitFields | undefined
  records: number[]
  values: FitValue[]
}

/**
 * A message other than a record, session or lap, named as in the FIT profile or `message_N`. `time`: its timestamp in FIT seconds, which is
 * then not among its fields; null if it has no timestamp. `record`: the number of the record before it, 0 before the first.
 */
export type FitOther = FitMessageFields & { name: string; time: number | null; record: number }

export type FitContents = ReturnType<typeof readContents>

/** Maximum number of messages of these kinds. A day of riding has a few hundred, but a hostile file may consist of such messages. */
const MAX_MESSAGES = 20_000
/** Maximum number of other messages, and of their fields: three messages a second for a day. */
const MAX_OTHERS = 300_000
const MAX_OTHER_FIELDS = 3_000_000
/** Maximum number of developer field values: 20 fields a second for a day. */
const MAX_VALUES = 2_000_000
/** Maximum number of unreadable fields that are named to a person. */
const MAX_UNREADABLE = 10

/** Messages that describe the file. Only the first of each kind counts. */
const HEAD: readonly number[] = [FILE_ID.message, FILE_CREATOR.message, ACTIVITY.message]

/**
 * Reads a FIT file: records, sessions, laps, developer fields, and every other message. Chained parts are read one after another. `head`:
 * the first message of each kind that describes the file, by its name in the profile. `devices`: every device message. `others`: every
 * message except records, sessions and laps. `problem`: why something is missing; a damaged file is read up to the damage. Never throws.
 */
export function readContents(bytes: Uint8Array) {
  const { parts, records } = readDescribed(bytes)
  const reader = contentsReader(records)
  const walker = makeFitWalker(() => {
    reader.openPart(parts.shift() ?? { descriptions: [], apps: new Map() })
    return { onMessage: reader.onMessage, end: (complete: boolean) => complete }
  })
  walker.push(bytes)
  return reader.end(walker.end())
}

/** The descriptions of the developer fields of a part, and its apps by number. */
type Described = { descriptions: FitFields[]; apps: Map<unknown, FitFields> }

/** Reads the descriptions of developer fields in each part, and counts the records of all parts. */
function readDescribed(bytes: Uint8Array): { parts: Described[]; records: number } {
  const parts: Described[] = []
  let records = 0
  const walker = makeFitWalker(() => {
    const part: Described = { descriptions: [], apps: new Map() }
    parts.push(part)
    const onMessage = (message: FitMessage) => {
      if (message.number === RECORD.message) records += 1
      if (part.descriptions.length + part.apps.size >= MAX_MESSAGES) return
      if (message.number === FIELD_DESCRIPTION.message) part.descriptions.push(readFields(message))
      if (message.number !== DEVELOPER_DATA_ID.message) return
      const fields = readFields(message)
      part.apps.set(firstOf(fields.developerDataIndex), fields)
    }
    return { onMessage, end: () => undefined }
  })
  walker.push(bytes)
  walker.end()
  return { parts, records }
}

function describe(fields: FitFields, apps: Described['apps']): DescribedField | undefined {
  const { developerDataIndex, fieldDefinitionNumber, fitBaseTypeId } = fields
  const [developer, number, type] = [developerDataIndex, fieldDefinitionNumber, fitBaseTypeId].map(firstOf)
  if (typeof developer !== 'number' || typeof number !== 'number') return undefined
  const app = apps.get(developer)
  return { developer, number, type: Number(type ?? BYTE), fields, app, records: [], values: [] }
}

function contentsReader(expectedRecords: number) {
  const head: Record<string, FitFields> = {}
  const lists = {
    sessions: [] as FitMessageFields[],
    laps: [] as FitMessageFields[],
    devices: [] as FitMessageFields[],
  }
  const listOf = new Map<number, FitMessageFields[]>([
    [SESSION.message, lists.sessions],
    [LAP.message, lists.laps],
    [DEVICE_INFO.message, lists.devices],
  ])
  const described: DescribedField[] = []
  const others: FitOther[] = []
  const records = recordsReader(expectedRecords)
  const beats = beatsReader()
  const times = { firstStart: Number.POSITIVE_INFINITY, first: Number.POSITIVE_INFINITY, last: 0 }
  const counts = { messages: 0, values: 0, otherFields: 0, leftOut: 0, record: 0 }
  let own: Array<DescribedField | undefined> = []
  let current = new Map<number, DescribedField>()
  const unreadable = new Set<string>()

  const onRecord = (message: FitMessage) => {
    const { time } = message
    const record = records.push(message)
    if (record === undefined) return
    counts.record = record
    if (time !== null && time >= FIRST_ABSOLUTE_TIME) {
      times.first = Math.min(times.first, time)
      times.last = time
    }
    for (const place of message.definition.developerFields) {
      const field = fieldOf(place)
      const value = field && readAppField(message, place, field.type)
      if (!field || value === undefined) continue
      if (counts.values >= MAX_VALUES) counts.leftOut += 1
      else {
        counts.values += 1
        field.records.push(record)
        field.values.push(value)
      }
    }
  }
  /** Finds the description of a field in its part. The bytes of a field without a description are kept. */
  const fieldOf = ({ developer, number }: DeveloperField): DescribedField | undefined => {
    const known = current.get(keyOf(developer, number))
    if (known || described.length >= MAX_MESSAGES) return known
    const field = { developer, number, type: BYTE, fields: {}, app: undefined, records: [], values: [] }
    current.set(keyOf(developer, number), field)
    described.push(field)
    return field
  }
  const noteUnreadable = ({ definition, bytes, number }: FitMessage) => {
    for (const place of definition.fields) {
      if (isReadable(place) || unreadable.size >= MAX_UNREADABLE) continue
      const message = MESSAGES.get(number)
      const name = message?.fields.get(place.number)?.name ?? `field_${place.number}`
      const isNothing = bytes.subarray(place.offset, place.offset + place.size).every((byte) => byte === 0xff)
      if (!isNothing) unreadable.add(`${message?.name ?? `message_${number}`}.${name}`)
    }
  }
  const onEvent = ({ event, data: all }: FitFields) => {
    if (event !== EVENT.frontGearChange && event !== EVENT.rearGearChange) return
    const data = firstOf(all)
    if (typeof data === 'number') records.shift({ front: teethOf(data, 24), rear: teethOf(data, 8) })
  }
  const onOther = (message: FitMessage, name: string) => {
    counts.otherFields += message.definition.fields.length + message.definition.developerFields.length
    if (others.length >= MAX_OTHERS || counts.otherFields > MAX_OTHER_FIELDS) {
      counts.leftOut += 1
      return
    }
    const time = message.time !== null && message.time >= FIRST_ABSOLUTE_TIME ? message.time : null
    const fields = readFields(message, time === null ? undefined : TIMESTAMP)
    const developerFields = readDeveloperFields(message, fieldOf)
    const own = message.number === HR.message ? beats.push(fields, time) : { fields, time }
    others.push({ name, ...own, record: counts.record, developerFields })
    if (message.number === EVENT.message) onEvent(fields)
  }
  const onMessage = (message: FitMessage) => {
    const { number } = message
    noteUnreadable(message)
    if (number === RECORD.message) return onRecord(message)
    const list = listOf.get(number)
    const name = MESSAGES.get(number)?.name ?? `message_${number}`
    if (number !== SESSION.message && number !== LAP.message) onOther(message, name)
    const isHead = HEAD.includes(number)
    const isOfApps = number === FIELD_DESCRIPTION.message || number === DEVELOPER_DATA_ID.message
    if (!list && !isHead && !isOfApps) return
    counts.messages += 1
    if (counts.messages > MAX_MESSAGES) {
      counts.leftOut += 1
      return
    }
    const fields = readFields(message)
    if (isOfApps) {
      const field = number === FIELD_DESCRIPTION.message ? own.shift() : undefined
      if (field) current.set(keyOf(field.developer, field.number), field)
    } else if (list) {
      list.push({ fields, developerFields: readDeveloperFields(message, fieldOf) })
      const start = number === SESSION.message ? firstOf(fields.startTime) : undefined
      if (typeof start === 'string') times.firstStart = Math.min(times.firstStart, Date.parse(start))
    } else head[name] ??= fields
  }
  return {
    openPart({ descriptions, apps }: Described) {
      own = descriptions.map((fields) => describe(fields, apps))
      const known = own.filter((field) => field !== undefined)
      described.push(...known)
      // Some devices write values before their description. If there are several, the first applies until the next is read.
      current = new Map(known.toReversed().map((field) => [keyOf(field.developer, field.number), field]))
    },
    onMessage,
    end({ parts, fault }: FitWalk<boolean>) {
      const read = records.end()
      const leftOut = counts.leftOut + read.leftOut
      const { firstStart, first, last } = times
      const firstRecord = Number.isFinite(first) ? dateOf(first) : null
      const problems: string[] = []
      if (fault && !fault.padding) problems.push(fault.reason)
      else if (parts.includes(false))
        problems.push('its messages cannot be read to the end, although its checksum is correct')
      if (unreadable.size > 0)
        problems.push(
          `these fields are left out because their size or type is invalid: ${[...unreadable].join(', ')}`,
        )
      if (leftOut > 0)
        problems.push(`${leftOut} messages or values are left out because no device writes so many`)
      return {
        parts: parts.length,
        records: { ...read, beatsHr: beats.merge(read.timesMs.map((ms) => ms / 1_000 - FIT_EPOCH_S)) },
        startedAt: Number.isFinite(firstStart) ? new Date(firstStart) : firstRecord,
        endedAt: last > 0 ? dateOf(last) : null,
        head,
        ...lists,
        described,
        others,
        problem: problems.length > 0 ? problems.join('; ') : null,
      }
    },
  }
}

/** Returns the teeth of one gear from a gear change event: its four bytes hold the gear number and teeth of both gears. NaN if unknown. */
function teethOf(data: number, shift: 8 | 24): number {
  const teeth = (data >>> shift) & 0xff
  return teeth === 0 || teeth === 0xff ? Number.NaN : teeth
}

function keyOf(developer: number, number: number): number {
  return developer * 256 + number
}

const NO_FIELDS: FitFields = {}

/**
 * Reads the developer fields of a message, by the names in their descriptions. If two fields have the same name, as with two sensors of a
 * kind, the second name ends in the numbers of its app and field.
 */
function readDeveloperFields(
  message: FitMessage,
  fieldOf: (place: DeveloperField) => DescribedField | undefined,
): FitFields {
  if (message.definition.developerFields.length === 0) return NO_FIELDS
  const fields: Record<string, FitValue> = {}
  for (const place of message.definition.developerFields) {
    const field = fieldOf(place)
    const value = field && readAppField(message, place, field.type)
    if (!field || value === undefined) continue
    const { fieldName } = field.fields
    const name = String(firstOf(fieldName) ?? 'field')
    const isFirst = fieldName !== undefined && !Object.hasOwn(fields, name)
    fields[isFirst ? name : `${name}_${place.developer}_${place.number}`] = value
  }
  return fields
}

import { Decoder, type RecordMesg, Stream } from '@garmin/fitsdk'
import type { FitContents, FitMessageFields } from '../../../src/core/fit/fit-contents.ts'
import type { FitFields, FitValue } from '../../../src/core/fit/fit-values.ts'

/** A record of a FIT activity; null if the device wrote nothing. Degrees, m, m/s, W, bpm, rpm. */
export type SdkRecord = {
  timeMs: number
  power: number | null
  hr: number | null
  cad: number | null
  speed: number | null
  distance: number | null
  altitude: number | null
  lat: number | null
  lng: number | null
}

/** A FIT file as @garmin/fitsdk reads it. `fileType` and `sport` are names of the SDK; records are in order of time. */
export type SdkReading = {
  isIntact: boolean
  fileType: string
  startedAt: Date | undefined
  sport: string | null
  records: SdkRecord[]
}

/** Reads a FIT file with @garmin/fitsdk, so that tests can compare our own reader with it. */
export function readWithSdk(bytes: Uint8Array): SdkReading {
  const isIntact = new Decoder(Stream.fromBuffer(bytes)).checkIntegrity()
  // Merging heart rates throws on real files.
  const { messages } = new Decoder(Stream.fromBuffer(bytes)).read({ mergeHeartRates: false })
  const { fileIdMesgs = [], sessionMesgs = [], sportMesgs = [], recordMesgs = [] } = messages
  const sports = new Set(
    [...sessionMesgs, ...sportMesgs]
      .map(({ sport }) => sport)
      .filter((sport) => sport !== undefined && sport !== 'transition'),
  )
  const starts = sessionMesgs.flatMap(({ startTime }) => (startTime instanceof Date ? [startTime] : []))
  return {
    isIntact,
    fileType: String(fileIdMesgs[0]?.type),
    startedAt: starts.sort((a, b) => a.getTime() - b.getTime())[0],
    sport: sports.size > 1 ? 'multisport' : String([...sports][0] ?? 'unknown'),
    records: recordMesgs.flatMap(readRecord).sort((a, b) => a.timeMs - b.timeMs),
  }
}

/** Enhanced fields take precedence over the narrower ones. */
function readRecord(record: RecordMesg): SdkRecord[] {
  const time = record.timestamp
  if (!(time instanceof Date) || Number.isNaN(time.getTime())) return []
  return [
    {
      timeMs: time.getTime(),
      power: numberOf(record.power),
      hr: numberOf(record.heartRate),
      cad: numberOf(record.cadence),
      speed: numberOf(record.enhancedSpeed) ?? numberOf(record.speed),
      distance: numberOf(record.distance),
      altitude: numberOf(record.enhancedAltitude) ?? numberOf(record.altitude),
      lat: degrees(record.positionLat),
      lng: degrees(record.positionLong),
    },
  ]
}

/** Odd files hold arrays or text in place of a number. Returns the first number, otherwise null. */
function numberOf(value: unknown): number | null {
  const single: unknown = Array.isArray(value) ? value[0] : value
  return typeof single === 'number' && Number.isFinite(single) ? single : null
}

function degrees(semicircles: unknown): number | null {
  const value = numberOf(semicircles)
  return value === null ? null : value * (180 / 2 ** 31)
}

/**
 * The contents of a FIT file as @garmin/fitsdk reads them, in the shape of src/core/fit/fit-contents.ts. `records`: the fields of each
 * record. `others`: the messages other than records, sessions and laps, by name.
 */
export type SdkContents = Pick<FitContents, 'sessions' | 'laps' | 'devices' | 'head'> & {
  described: Array<Pick<FitContents['described'][number], 'fields' | 'records' | 'values'>>
  records: FitFields[]
  others: Record<string, Array<FitMessageFields & { time: number | null }>>
}

const FIT_EPOCH_S = 631_065_600
const FIRST_ABSOLUTE_TIME = 0x10000000

/** Reads the messages of a FIT file, scaled, with enumerations as numbers. */
export function readMessagesWithSdk(bytes: Uint8Array): SdkContents {
  const { messages } = new Decoder(Stream.fromBuffer(bytes)).read({
    mergeHeartRates: false,
    expandComponents: false,
    expandSubFields: false,
    convertTypesToStrings: false,
    includeUnknownData: true,
  })
  const listOf = (key: string) => Reflect.get(messages, key) as Record<string, unknown>[] | undefined
  const descriptions = listOf('fieldDescriptionMesgs') ?? []
  const messageOf = (message: Record<string, unknown>) => {
    // The SDK adds a key of its own to descriptions.
    const { developerFields = {}, key: _, ...fields } = message
    const named = Object.entries(Object(developerFields)).map(([key, value]) => [
      String(descriptions[Number(key)]?.fieldName),
      value,
    ])
    return { fields: plainFields(fields), developerFields: plainFields(Object.fromEntries(named)) }
  }
  const all = (key: string) => (listOf(key) ?? []).map(messageOf)
  const head = ['fileId', 'fileCreator', 'activity'].flatMap((name) => {
    const first = all(`${name}Mesgs`)[0]
    return first ? [[name, first.fields]] : []
  })
  const records = listOf('recordMesgs') ?? []
  const described = descriptions.map(({ key, ...description }) => {
    const values = records.flatMap(({ developerFields }, index) => {
      const value = plainValue(Reflect.get(Object(developerFields), String(key)))
      return value === null ? [] : [{ record: index + 1, value }]
    })
    return {
      fields: plainFields(description),
      records: values.map(({ record }) => record),
      values: values.map(({ value }) => value as FitValue),
    }
  })
  const others = Object.keys(messages).flatMap((key) => {
    const name = /^\d+$/.test(key) ? `message_${key}` : key.replace(/Mesgs$/, '')
    const named = ['record', 'session', 'lap'].includes(name) ? [] : all(key).map(untimed)
    return named.length > 0 ? [[name, named]] : []
  })
  return {
    sessions: all('sessionMesgs'),
    laps: all('lapMesgs'),
    devices: all('deviceInfoMesgs'),
    head: Object.fromEntries(head),
    described,
    records: records.map((record) => messageOf(record).fields),
    others: Object.fromEntries(others),
  }
}

/** Moves the timestamp of a message out of its fields. */
function untimed({ fields, developerFields }: FitMessageFields) {
  const { timestamp, field_253: raw, ...rest } = fields
  if (typeof timestamp === 'string')
    return { time: Date.parse(timestamp) / 1_000 - FIT_EPOCH_S, fields: rest, developerFields }
  if (typeof raw === 'number' && raw >= FIRST_ABSOLUTE_TIME)
    return { time: raw, fields: rest, developerFields }
  return { time: null, fields, developerFields }
}

function plainFields(fields: Record<string, unknown>): FitFields {
  const plain = Object.entries(fields).flatMap(([name, value]) => {
    const made = plainValue(value)
    return made === null ? [] : [[/^\d+$/.test(name) ? `field_${name}` : name, made]]
  })
  return Object.fromEntries(plain)
}

/** Converts a value to JSON. Returns null for no value, which the SDK gives as undefined, null or NaN. */
function plainValue(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (value === undefined || Number.isNaN(value)) return null
  if (!Array.isArray(value)) return value
  const list = value.map(plainValue)
  return list.every((one) => one === null) ? null : list
}

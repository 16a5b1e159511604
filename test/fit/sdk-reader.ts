import { Decoder, type RecordMesg, Stream } from '@garmin/fitsdk'
import type { FitContents } from '../../src/fit/fit-contents.ts'

/** One moment of a FIT activity; null where the device wrote nothing. Degrees, metres, m/s, watts, beats and turns a minute. */
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

/** A FIT file as @garmin/fitsdk reads it; `fileType` and `sport` are its names, records in the order of time. */
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

/** The enhanced fields win over the narrow ones. */
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

/** Odd files hold arrays or text where the profile says number: the first number counts, the rest is nothing. */
function numberOf(value: unknown): number | null {
  const single: unknown = Array.isArray(value) ? value[0] : value
  return typeof single === 'number' && Number.isFinite(single) ? single : null
}

function degrees(semicircles: unknown): number | null {
  const value = numberOf(semicircles)
  return value === null ? null : value * (180 / 2 ** 31)
}

/** What @garmin/fitsdk reads of the messages that src/fit/fit-contents.ts reads, in the same shape. */
export type SdkContents = Pick<FitContents, 'sessions' | 'laps' | 'devices' | 'head'> & {
  described: Array<Pick<FitContents['described'][number], 'fields' | 'times' | 'values'>>
}

/**
 * Reads the messages beside the records, scaled, with enumerations as numbers. Values that no row can hold are left out of
 * `described`: texts, and those of records without a time.
 */
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
    const { developerFields = {}, ...fields } = message
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
  const described = descriptions.map(({ key, ...description }) => {
    const values = (listOf('recordMesgs') ?? []).flatMap(({ timestamp, developerFields }) => {
      const value: unknown = Reflect.get(Object(developerFields), String(key))
      const first: unknown = Array.isArray(value) ? value[0] : value
      return timestamp instanceof Date && typeof first === 'number' && Number.isFinite(first)
        ? [[timestamp.getTime() / 1_000, first]]
        : []
    })
    return {
      fields: plainFields(description),
      times: values.map(([time = 0]) => time),
      values: values.map(([, value = 0]) => value),
    }
  })
  return {
    sessions: all('sessionMesgs'),
    laps: all('lapMesgs'),
    devices: all('deviceInfoMesgs'),
    head: Object.fromEntries(head),
    described,
  }
}

function plainFields(fields: Record<string, unknown>): FitContents['laps'][number]['fields'] {
  const plain = Object.entries(fields).flatMap(([name, value]) => {
    if (value === null || value === undefined) return []
    return [[/^\d+$/.test(name) ? `field_${name}` : name, plainValue(value)]]
  })
  return Object.fromEntries(plain)
}

function plainValue(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  return Array.isArray(value) ? value.map(plainValue) : value
}

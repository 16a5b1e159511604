import { Profile } from '@garmin/fitsdk'
import { type FitFacts, readFitFacts } from './facts.ts'
import { splitFitParts } from './parts.ts'

export type FitVerdict =
  | { verdict: 'whole'; startedAt: Date; endedAt: Date; sport: string | null; records: number }
  | { verdict: 'unready'; code: string }
  | { verdict: 'refused'; code: string; reason: string }

/** FIT counts seconds from the last day of 1989, UTC. */
const FIT_EPOCH_S = 631_065_600
const ACTIVITY_TYPE = 4
/** The only header lengths of the protocol: without and with a checksum of its own. */
const HEADER_SIZES: readonly number[] = [12, 14]
const DATA_SIZE_PLACE = 4

/**
 * Judges whether bytes are a whole FIT activity: header, declared length and checksum of every chained part, an activity
 * among them, records in it. `unready` is a file that may still become whole (being written, cut, its place on the disk
 * reserved and not filled) and waits without limit; `refused` never becomes an activity. `startedAt` is the first
 * session's start, else the first record; `endedAt` the last record. `sport` is the kit's name, `multisport` when
 * sessions differ, null when nothing says. Never throws.
 */
export function judgeFit(bytes: Uint8Array): FitVerdict {
  const early = judgeFront(bytes)
  if (early) return early
  const split = splitFitParts(bytes)
  if (!split.ok) {
    if (split.code !== 'not_fit') return { verdict: 'unready', code: split.code }
    return isBlank(bytes.subarray(split.wholeBytes))
      ? { verdict: 'unready', code: 'reserved' }
      : refused('not_fit', split.reason)
  }
  const parts = split.parts.map(readFitFacts)
  const activities = parts.filter(isActivity)
  if (activities.length === 0) return refuseOther(parts)
  return judgeActivity(activities)
}

/** What the first bytes tell before any length can be trusted. */
function judgeFront(bytes: Uint8Array): FitVerdict | undefined {
  const headerSize = bytes[0]
  if (headerSize === undefined) return { verdict: 'unready', code: 'empty' }
  // A share that reserves the size first, or writes the header last, shows zeros where the header will be.
  if (headerSize === 0) return { verdict: 'unready', code: 'reserved' }
  if (!HEADER_SIZES.includes(headerSize)) return refused('not_fit', 'it does not start with a FIT header')
  if (bytes.length < headerSize) return { verdict: 'unready', code: 'incomplete' }
  // Recorders write the length when the ride ends; until then it is zero.
  if (isBlank(bytes.subarray(DATA_SIZE_PLACE, DATA_SIZE_PLACE + 4))) {
    return { verdict: 'unready', code: 'growing' }
  }
  return undefined
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0)
}

function isActivity(facts: FitFacts): boolean {
  if (facts.fileType !== null) return facts.fileType === ACTIVITY_TYPE
  return facts.sessions > 0 || facts.records > 0
}

function judgeActivity(parts: FitFacts[]): FitVerdict {
  const records = parts.reduce((sum, part) => sum + part.records, 0)
  if (records === 0) {
    return parts.every((part) => part.complete)
      ? refused('no_records', 'it is a FIT activity without a single record')
      : refused('unreadable', 'its messages cannot be read, although its checksum is right')
  }
  const starts = parts.flatMap((part) => part.sessionStarts)
  const times = parts.flatMap((part) => [part.firstRecordAt ?? [], part.lastRecordAt ?? []].flat())
  const start = smallest(starts) ?? smallest(times) ?? smallest(parts.flatMap((part) => part.createdAt ?? []))
  if (start === undefined) return refused('no_time', 'it is a FIT activity in which nothing says when it was')
  return {
    verdict: 'whole',
    startedAt: dateOf(start),
    endedAt: dateOf(times.reduce((last, time) => Math.max(last, time), start)),
    sport: sportOf(parts.flatMap((part) => part.sports)),
    records,
  }
}

function smallest(values: number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((least, value) => Math.min(least, value))
}

function dateOf(fitSeconds: number): Date {
  return new Date((fitSeconds + FIT_EPOCH_S) * 1_000)
}

function sportOf(numbers: number[]): string | null {
  const names = new Set(
    numbers.map((number) => nameOf('sport', number)).filter((name) => name !== 'transition'),
  )
  if (names.size > 1) return 'multisport'
  return [...names][0] ?? null
}

function refuseOther(parts: FitFacts[]): FitVerdict {
  const type = parts.map((part) => part.fileType).find((number) => number !== null)
  if (type === undefined) return refused('not_activity', 'it is a FIT file that is no activity')
  return refused('not_activity', `it is a FIT file of the type ${nameOf('file', type)}, and no activity`)
}

/** The kit's name of a number: `bloodPressure` becomes `blood pressure` only where people read it. */
function nameOf(type: 'file' | 'sport', number: number): string {
  const name = Profile.types[type]?.[number]
  if (typeof name !== 'string') return String(number)
  return type === 'file' ? name.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase() : name
}

function refused(code: string, reason: string): FitVerdict {
  return { verdict: 'refused', code, reason }
}

import { type FitMessage, type FitWalk, makeFitWalker, type PartReader, readNumber } from './fit-walker.ts'
import {
  ACTIVITY_FILE,
  FILE_ID,
  FILE_TYPES,
  FIRST_ABSOLUTE_TIME,
  FIT_EPOCH_S,
  NO_TIME,
  RECORD,
  SESSION,
  SPORT,
  SPORTS,
} from './profile.ts'

/** A FIT activity: `sizeBytes` is its length, which is the file's unless something follows it. */
type WholeFit = {
  startedAt: Date
  endedAt: Date
  sport: string | null
  records: number
  sizeBytes: number
}

export type FitVerdict =
  | ({ verdict: 'whole' } & WholeFit)
  /** `whole`: the activity in front of padding that may still become something */
  | { verdict: 'unready'; code: string; reason: string; whole?: WholeFit }
  | { verdict: 'refused'; code: string; reason: string }

type FitJudge = {
  /** Reads the next bytes; returns false when no further ones can change the verdict. */
  push(bytes: Uint8Array): boolean
  /** Returns the verdict; nothing follows. */
  end(): FitVerdict
}

/**
 * Makes the judge of one file, which reads its bytes piece by piece: whether it is a whole FIT activity by header, declared
 * length and checksum of every chained part, with an activity among them and records in it. `unready` is a file that may
 * still become whole (being written, cut, damaged, its place on the disk reserved and not filled); `refused` never becomes
 * an activity. `startedAt` is the first session's start, else the first record; `endedAt` the last record. `sport` is the
 * profile's name, `multisport` when sessions differ, null when no message gives one. Never throws.
 */
export function makeFitJudge(): FitJudge {
  const walker = makeFitWalker(makeFactsReader)
  return { push: walker.push, end: () => judgeWalk(walker.end()) }
}

/** Judges bytes in memory, see makeFitJudge. */
export function judgeFit(bytes: Uint8Array): FitVerdict {
  const judge = makeFitJudge()
  judge.push(bytes)
  return judge.end()
}

function judgeWalk({ parts, wholeBytes, fault }: FitWalk<FitFacts>): FitVerdict {
  if (!fault) return judgeParts(parts, wholeBytes)
  const { code, reason } = fault
  if (code === 'not_fit' || code === 'too_many_parts') return refused(code, reason)
  const front = fault.padding ? judgeParts(parts, wholeBytes) : undefined
  if (front?.verdict !== 'whole') return { verdict: 'unready', code, reason }
  const { verdict, ...whole } = front
  return { verdict: 'unready', code, reason, whole }
}

function judgeParts(parts: readonly FitFacts[], sizeBytes: number): FitVerdict {
  const activities = parts.filter(isActivity)
  return activities.length === 0 ? refuseOther(parts) : judgeActivity(activities, sizeBytes)
}

function isActivity(facts: FitFacts): boolean {
  if (facts.fileType !== null) return facts.fileType === ACTIVITY_FILE
  return facts.sessions > 0 || facts.records > 0
}

function judgeActivity(parts: readonly FitFacts[], sizeBytes: number): FitVerdict {
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
    sizeBytes,
  }
}

function smallest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((least, value) => Math.min(least, value))
}

function dateOf(fitSeconds: number): Date {
  return new Date((fitSeconds + FIT_EPOCH_S) * 1_000)
}

function sportOf(numbers: readonly number[]): string | null {
  const names = new Set(
    numbers.map((number) => SPORTS.get(number) ?? String(number)).filter((name) => name !== 'transition'),
  )
  if (names.size > 1) return 'multisport'
  return [...names][0] ?? null
}

function refuseOther(parts: readonly FitFacts[]): FitVerdict {
  const type = parts.map((part) => part.fileType).find((number) => number !== null)
  if (type === undefined) return refused('not_activity', 'it is a FIT file that is no activity')
  const name = FILE_TYPES.get(type)
  const kind = name
    ? `a FIT file of the type ${name}`
    : `a FIT file of a type that is the device maker's own (number ${type})`
  return refused('not_activity', `it is ${kind}, and no activity`)
}

function refused(code: string, reason: string): FitVerdict {
  return { verdict: 'refused', code, reason }
}

/** The few facts that distinguish an activity from other FIT files. Times are seconds as FIT counts them. */
type FitFacts = {
  fileType: number | null
  createdAt: number | null
  sessionStarts: number[]
  sessions: number
  sports: number[]
  records: number
  firstRecordAt: number | null
  lastRecordAt: number | null
  complete: boolean
}

const NO_ENUM = 0xff
/** A hostile file may hold nothing but sessions; an activity has a few. */
const MOST_SESSIONS = 1_000

/** Makes the reader of one part's facts; fields of a type or size that the profile does not know count as missing. */
function makeFactsReader(): PartReader<FitFacts> {
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
  return {
    onMessage: (message) => collect(facts, message),
    end: (complete) => ({ ...facts, complete }),
  }
}

function collect(facts: FitFacts, message: FitMessage): void {
  if (message.number === RECORD.message) {
    const { time } = message
    facts.records += 1
    if (time === null || time < FIRST_ABSOLUTE_TIME) return
    facts.firstRecordAt = Math.min(facts.firstRecordAt ?? time, time)
    facts.lastRecordAt = Math.max(facts.lastRecordAt ?? time, time)
  } else if (message.number === SESSION.message) {
    facts.sessions += 1
    if (facts.sessions > MOST_SESSIONS) return
    const start = readTime(message, SESSION.startedAt)
    if (start !== null && start >= FIRST_ABSOLUTE_TIME) facts.sessionStarts.push(start)
    addSport(facts, readEnum(message, SESSION.sport))
  } else if (message.number === SPORT.message) {
    addSport(facts, readEnum(message, SPORT.sport))
  } else if (message.number === FILE_ID.message) {
    facts.fileType ??= readEnum(message, FILE_ID.type)
    facts.createdAt ??= readTime(message, FILE_ID.createdAt)
  }
}

function addSport(facts: FitFacts, sport: number | null): void {
  if (sport !== null && !facts.sports.includes(sport)) facts.sports.push(sport)
}

function readTime(message: FitMessage, field: number): number | null {
  const time = readNumber(message, field, 4)
  return time === undefined || time === NO_TIME ? null : time
}

function readEnum(message: FitMessage, field: number): number | null {
  const value = readNumber(message, field, 1)
  return value === undefined || value === NO_ENUM ? null : value
}

import { refused } from './archive.ts'
import { dateOf, readFirst } from './fit-values.ts'
import { type FitMessage, type FitWalk, makeFitWalker } from './fit-walker.ts'
import {
  ACTIVITY,
  ACTIVITY_FILE,
  FILE_ID,
  FILE_TYPES,
  FIRST_ABSOLUTE_TIME,
  RECORD,
  SESSION,
  SPORT,
  SPORTS,
} from './profile.ts'

/**
 * A FIT activity: `sizeBytes` is its length, which is the file's unless something follows it that is no FIT. `startedAt` and `endedAt` are null when all times of the file count from the start of the device. `starts`:
 * all times that may count as the start, in UTC; `otherStarts`: those that are far from `startedAt`, also by the clock of the device,
 * which is `utcOffsetS` from UTC. `timerS`: how long the timer ran in all sessions, 0 when none says it.
 */
export type WholeFit = {
  startedAt: Date | null
  endedAt: Date | null
  starts: Date[]
  otherStarts: Date[]
  utcOffsetS: number
  timerS: number
  sport: string | null
  records: number
  sizeBytes: number
}

export type FitVerdict =
  | ({ verdict: 'whole' } & WholeFit)
  /** `whole`: the activity in front of padding that may still become something */
  | { verdict: 'unready'; code: string; reason: string; whole?: WholeFit }
  | { verdict: 'refused'; code: string; reason: string }

/**
 * Makes the judge of one file, which reads its bytes piece by piece: whether it is a whole FIT activity by header, declared
 * length and checksum of every chained part, with an activity among them and records in it. `unready` is a file that may
 * still become whole (being written, cut, damaged, its place on the disk reserved and not filled); `refused` never becomes
 * an activity. What follows a whole activity and is no FIT does not count. `startedAt` is the first session's start, else the first
 * record; `endedAt` the last record. `sport` is the profile's name, `multisport` when sessions differ, null when no message gives one.
 * Its `push` reads the next bytes and returns false when no further ones can change the verdict, which `end` returns. Never throws.
 */
export function makeFitJudge() {
  const walker = makeFitWalker(factsReader)
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
  // A FIT file ends where its header says.
  if (fault.isBehind) return judgeParts(parts, wholeBytes)
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
  const sessions = parts.flatMap((part) => part.sessionStarts)
  const runs = parts.flatMap((part) => part.runs)
  const created = parts.flatMap((part) => part.createdAt ?? [])
  const start = [sessions, runs, created].map((times) => smallest(times.filter(isReal))).find(isKnown)
  const relative = [sessions, runs, created].map(smallest).find(isKnown)
  if (relative === undefined)
    return refused('no_time', 'it is a FIT activity in which nothing says when it was')
  const isInside = (time: number) => start !== undefined && time >= start
  const isFar = (time: number) => start === undefined || Math.abs(time - start) > RUN_GAP_S
  const utcOffsets = parts.flatMap((part) => part.utcOffset ?? [])
  const starts = [start, relative, runs[0], smallest(runs.filter(isReal)), smallest(runs.filter(isInside))]
  const others = [...starts, ...utcOffsets.map((offset) => (start ?? relative) + offset)]
  const last = parts.flatMap((part) => part.lastRecordAt ?? [])
  return {
    verdict: 'whole',
    startedAt: start === undefined ? null : dateOf(start),
    endedAt: start === undefined ? null : dateOf(last.reduce((end, time) => Math.max(end, time), start)),
    starts: [...new Set(starts)].filter(isKnown).map(dateOf),
    otherStarts: [...new Set(others)].filter(isKnown).filter(isFar).map(dateOf),
    utcOffsetS: utcOffsets[0] ?? 0,
    timerS: parts.reduce((sum, part) => sum + part.timerS, 0),
    sport: sportOf(parts.flatMap((part) => part.sports)),
    records,
    sizeBytes,
  }
}

function isReal(time: number): boolean {
  return time >= FIRST_ABSOLUTE_TIME
}

function isKnown(time: number | undefined): time is number {
  return time !== undefined
}

function smallest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((least, value) => Math.min(least, value))
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
  if (type === undefined) return refused('not_activity', 'the FIT file is not an activity')
  const name = FILE_TYPES.get(type)
  const kind = name
    ? `a FIT file of the type ${name}`
    : `a FIT file of a type that is the device maker's own (number ${type})`
  return refused('not_activity', `it is ${kind}, and no activity`)
}

/** The few facts of a part that distinguish an activity from other FIT files. Times are seconds as FIT counts them. */
type FitFacts = ReturnType<ReturnType<typeof factsReader>['end']>

/** A hostile file may hold nothing but sessions, or leaps in time; an activity has a few. */
const MAX_TIMES = 1_000
/** Records further apart than this are two runs, and starts that are as near count as one, s. */
const RUN_GAP_S = 2 * 60
/** Zones differ by quarters of an hour, s. */
const QUARTER_S = 15 * 60
/** More than any zone has, s. */
const MAX_OFFSET_S = 15 * 3_600

/** Makes the reader of one part's facts; fields of a type or size that the profile does not know count as missing. */
function factsReader() {
  const facts = {
    fileType: null as number | null,
    createdAt: null as number | null,
    sessionStarts: [] as number[],
    sessions: 0,
    timerS: 0,
    sports: [] as number[],
    records: 0,
    /** the first record, and each one that is far from the one before it */
    runs: [] as number[],
    lastRecordAt: null as number | null,
    /** the wall clock of the device minus UTC, s */
    utcOffset: null as number | null,
  }
  let before: number | undefined
  const onRecord = (time: number | null) => {
    facts.records += 1
    if (time === null) return
    const isApart = before === undefined || time < before || time > before + RUN_GAP_S
    if (isApart && facts.runs.length < MAX_TIMES) facts.runs.push(time)
    before = time
    if (isReal(time)) facts.lastRecordAt = Math.max(facts.lastRecordAt ?? time, time)
  }
  const addSport = ([sport]: number[]) => {
    if (sport !== undefined && !facts.sports.includes(sport)) facts.sports.push(sport)
  }
  const onMessage = (message: FitMessage) => {
    const numberOf = (field: number) => readFirst(message, field)
    if (message.number === RECORD.message) onRecord(message.time)
    else if (message.number === SESSION.message) {
      facts.sessions += 1
      if (facts.sessions > MAX_TIMES) return
      facts.sessionStarts.push(...numberOf(SESSION.startedAt))
      facts.timerS += (numberOf(SESSION.timer)[0] ?? 0) / 1_000
      addSport(numberOf(SESSION.sport))
    } else if (message.number === SPORT.message) {
      addSport(numberOf(SPORT.sport))
    } else if (message.number === FILE_ID.message) {
      facts.fileType ??= numberOf(FILE_ID.type)[0] ?? null
      facts.createdAt ??= numberOf(FILE_ID.createdAt)[0] ?? null
    } else if (message.number === ACTIVITY.message) {
      const [local] = numberOf(ACTIVITY.localTime)
      if (local === undefined || message.time === null) return
      const offset = Math.round((local - message.time) / QUARTER_S) * QUARTER_S
      if (Math.abs(offset) <= MAX_OFFSET_S) facts.utcOffset ??= offset
    }
  }
  return { onMessage, end: (complete: boolean) => ({ ...facts, complete }) }
}

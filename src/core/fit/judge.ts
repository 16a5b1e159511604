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
 * A FIT activity. `sizeBytes`: its length, without bytes after it that are not FIT. `startedAt`, `endedAt`: null if all times in the file
 * count from when the device was switched on. `starts`: every time that may count as the start, UTC. `otherStarts`: start times far from
 * `startedAt`, including start times by the device's clock, which is `utcOffsetS` ahead of UTC. `timerS`: timer seconds of all sessions, 0 if
 * none has any.
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
  /** `whole`: the activity before padding that may still be overwritten */
  | { verdict: 'unready'; code: string; reason: string; whole?: WholeFit }
  | { verdict: 'refused'; code: string; reason: string }

/**
 * Makes the judge of one file. It reads the bytes piece by piece and decides whether they are a whole FIT activity: header, declared length
 * and checksum of every chained part are right, and a part is an activity with records. An `unready` file may still become whole: it is
 * being written, truncated or damaged, or its reserved space is not filled yet. A `refused` file never becomes an activity. Bytes after a
 * whole activity that are not FIT do not count. `startedAt` is the start of the first session, otherwise the first record; `endedAt` is the
 * last record. `sport` is the name in the profile, `multisport` if sessions differ, null if no message has a sport. `push` reads the next
 * bytes and returns false if further bytes cannot change the verdict; `end` returns the verdict. Never throws.
 */
export function makeFitJudge() {
  const walker = makeFitWalker(factsReader)
  return { push: walker.push, end: () => judgeWalk(walker.end()) }
}

/** Judges bytes in memory as makeFitJudge does. */
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
      ? refused('no_records', 'it is a FIT activity without records')
      : refused('unreadable', 'its messages cannot be read, although its checksum is correct')
  }
  const sessions = parts.flatMap((part) => part.sessionStarts)
  const runs = parts.flatMap((part) => part.runs)
  const created = parts.flatMap((part) => part.createdAt ?? [])
  const start = [sessions, runs, created].map((times) => smallest(times.filter(isReal))).find(isKnown)
  const relative = [sessions, runs, created].map(smallest).find(isKnown)
  if (relative === undefined) return refused('no_time', 'it is a FIT activity without a start time')
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
  const kind = name ? `a FIT file of type "${name}"` : `a FIT file of the manufacturer-specific type ${type}`
  return refused('not_activity', `it is ${kind}, not an activity`)
}

/** The facts that distinguish an activity from other FIT files. Times are FIT seconds. */
type FitFacts = ReturnType<ReturnType<typeof factsReader>['end']>

/** Maximum number of sessions and runs. An activity has a few; a hostile file may hold nothing else. */
const MAX_TIMES = 1_000
/** Records further apart than this belong to two runs, and start times this close count as the same, s. */
const RUN_GAP_S = 2 * 60
/** Offsets of time zones are multiples of this, s. */
const QUARTER_S = 15 * 60
/** Limit of a time zone offset, s: no zone has more. */
const MAX_OFFSET_S = 15 * 3_600

/** Makes the reader of the facts of one part. Fields whose type or size the profile does not define count as missing. */
function factsReader() {
  const facts = {
    fileType: null as number | null,
    createdAt: null as number | null,
    sessionStarts: [] as number[],
    sessions: 0,
    timerS: 0,
    sports: [] as number[],
    records: 0,
    /** times of the first record, and of each record far from the previous record */
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

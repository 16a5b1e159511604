import { Profile } from '@garmin/fitsdk'
import type { FitFacts } from './facts.ts'
import { type FitWalk, walkFit } from './walk.ts'

/** A FIT activity: `sizeBytes` is its length, which is the file's unless something follows it. */
export type WholeFit = {
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

export type FitJudge = {
  /** Looks at the next bytes; false when no further ones can change the verdict. */
  push(bytes: Uint8Array): boolean
  /** Tells the verdict; nothing follows. */
  end(): FitVerdict
}

/** FIT counts seconds from the last day of 1989, UTC. */
const FIT_EPOCH_S = 631_065_600
const ACTIVITY_TYPE = 4
const NOTHING = new Uint8Array()

/**
 * Makes the judge of one file, which sees its bytes piece by piece: whether it is a whole FIT activity by header, declared
 * length and checksum of every chained part, with an activity among them and records in it. `unready` is a file that may
 * still become whole (being written, cut, damaged, its place on the disk reserved and not filled); `refused` never becomes
 * an activity. `startedAt` is the first session's start, else the first record; `endedAt` the last record. `sport` is the
 * kit's name, `multisport` when sessions differ, null when nothing says. Never throws.
 */
export function makeFitJudge(): FitJudge {
  const walk = walkFit()
  let step = walk.next()
  let held: Uint8Array = NOTHING
  const feed = (isEnd: boolean) => {
    let place = 0
    while (!step.done && (isEnd || held.length - place >= step.value)) {
      const bytes = held.subarray(place, place + step.value)
      place += bytes.length
      step = walk.next(bytes)
    }
    held = held.subarray(place)
  }
  return {
    push(bytes) {
      held = held.length === 0 ? bytes : Buffer.concat([held, bytes])
      feed(false)
      return !step.done
    },
    end() {
      feed(true)
      if (!step.done) throw new Error('the walk ends with its bytes')
      return judgeWalk(step.value)
    },
  }
}

/** Judges bytes in memory, see makeFitJudge. */
export function judgeFit(bytes: Uint8Array): FitVerdict {
  const judge = makeFitJudge()
  judge.push(bytes)
  return judge.end()
}

function judgeWalk({ parts, wholeBytes, fault }: FitWalk): FitVerdict {
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
  if (facts.fileType !== null) return facts.fileType === ACTIVITY_TYPE
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
    numbers
      .map((number) => nameOf('sport', number) ?? String(number))
      .filter((name) => name !== 'transition'),
  )
  if (names.size > 1) return 'multisport'
  return [...names][0] ?? null
}

function refuseOther(parts: readonly FitFacts[]): FitVerdict {
  const type = parts.map((part) => part.fileType).find((number) => number !== null)
  if (type === undefined) return refused('not_activity', 'it is a FIT file that is no activity')
  const name = nameOf('file', type)
  // `bloodPressure` is for programs, `blood pressure` for people.
  const kind = name
    ? `a FIT file of the type ${name.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase()}`
    : `a FIT file of a type that is the device maker's own (number ${type})`
  return refused('not_activity', `it is ${kind}, and no activity`)
}

/** The kit's name of a number. */
function nameOf(type: 'file' | 'sport', number: number): string | undefined {
  const name = Profile.types[type]?.[number]
  return typeof name === 'string' ? name : undefined
}

function refused(code: string, reason: string): FitVerdict {
  return { verdict: 'refused', code, reason }
}

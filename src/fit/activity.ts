import { Decoder, type FitMessages, type RecordMesg, Stream } from '@garmin/fitsdk'
import { type PartsFault, splitFitParts } from './parts.ts'
import { type FitRecord, readFitRecord } from './record.ts'

export type { FitRecord } from './record.ts'

export type FitFault = PartsFault | 'not_activity' | 'no_records' | 'unreadable'

export type FitActivity =
  | { ok: true; startedAt: Date; sport: string; records: FitRecord[] }
  | { ok: false; code: FitFault; reason: string }

/**
 * Parses the bytes of a whole FIT activity: header, length and checksum of every chained part, file type, records in
 * the order of time. Never throws: what is not a whole activity comes back as `ok: false` with a stable `code`.
 * `startedAt` is the first session's start, or the first record's time when there is no session; `sport` is the
 * kit's name (`cycling`, `running`), `multisport` when sessions differ, `unknown` when nothing says.
 */
export function parseFitActivity(bytes: Uint8Array): FitActivity {
  const split = splitFitParts(bytes)
  if (!split.ok) return fault(split.code, split.reason)
  const messages: FitMessages[] = []
  for (const part of split.parts) {
    const read = readMessages(part)
    if (read instanceof Error) return fault('unreadable', `the messages cannot be read: ${read.message}`)
    messages.push(read)
  }
  const activities = messages.filter(isActivity)
  if (activities.length === 0) return fault('not_activity', 'the file is FIT, but no activity')
  const records = activities
    .flatMap((part) => part.recordMesgs ?? [])
    .map((record: RecordMesg) => readFitRecord(record))
    .filter((record) => record !== undefined)
    .sort((a, b) => a.timeMs - b.timeMs)
  const first = records[0]
  if (!first) return fault('no_records', 'the activity holds no records')
  return {
    ok: true,
    startedAt: startOf(activities) ?? new Date(first.timeMs),
    sport: sportOf(activities),
    records,
  }
}

/** The messages of one part. The kit collects what it throws while reading; heart rate merging throws on real files, so it stays off. */
function readMessages(part: Uint8Array): FitMessages | Error {
  try {
    const { messages, errors } = new Decoder(Stream.fromBuffer(part)).read({ mergeHeartRates: false })
    const usable = (messages.recordMesgs?.length ?? 0) > 0
    return errors[0] && !usable ? errors[0] : messages
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function isActivity(messages: FitMessages): boolean {
  const type = messages.fileIdMesgs?.[0]?.type
  if (type !== undefined) return type === 'activity'
  return (messages.sessionMesgs?.length ?? 0) > 0
}

function startOf(parts: FitMessages[]): Date | undefined {
  const starts = parts
    .flatMap((part) => part.sessionMesgs ?? [])
    .map((session) => session.startTime)
    .filter((time): time is Date => time instanceof Date && !Number.isNaN(time.getTime()))
  return starts.sort((a, b) => a.getTime() - b.getTime())[0]
}

function sportOf(parts: FitMessages[]): string {
  const named = parts.flatMap((part) => [...(part.sessionMesgs ?? []), ...(part.sportMesgs ?? [])])
  const sports = new Set(
    named.map((message) => message.sport).filter((sport) => sport !== undefined && sport !== 'transition'),
  )
  if (sports.size > 1) return 'multisport'
  return String([...sports][0] ?? 'unknown')
}

function fault(code: FitFault, reason: string): FitActivity {
  return { ok: false, code, reason }
}

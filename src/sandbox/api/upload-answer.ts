import { createHash, randomUUID } from 'node:crypto'
import { type FitMessage, makeFitWalker, readNumber } from '../../core/fit/fit-walker.ts'
import { judgeFit } from '../../core/fit/judge.ts'
import { FIRST_ABSOLUTE_TIME, FIT_EPOCH_S, RECORD } from '../../core/fit/profile.ts'
import { makeRandom, makeWord } from '../athlete/random.ts'
import { makeTrack, type Track } from '../athlete/ride.ts'
import type { RiderAnswer } from '../http/http-server.ts'
import { json, type Reply } from '../http/reply.ts'
import { readUploadForm } from '../http/request.ts'
import { checkParts } from '../http/strict.ts'
import { type Activity, addActivity, isListed, type Rider } from '../rider.ts'
import type { World } from '../world.ts'

/**
 * Answers POST /oauth/upload. A complete FIT activity becomes an activity at once and gets its samples later. Anything else is refused with
 * `success: false` and status 200. The new path is the last part of `json.files[0].url`.
 */
export const answerUpload: RiderAnswer = async ({ world, rider }, request) => {
  const { file, fields } = await readUploadForm(request)
  checkParts(world, fields.keys())
  if (!file) return refuseUpload(world, 'the part named file is missing')
  const bytes = Buffer.from(await file.arrayBuffer())
  const verdict = judgeFit(bytes)
  if (verdict.verdict === 'unready') return refuseUpload(world, `the file is damaged: ${verdict.code}`)
  if (verdict.verdict === 'refused') return refuseUpload(world, verdict.reason)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const nowMs = world.now().getTime()
  const startedAt = verdict.startedAt ?? verdict.otherStarts[0] ?? world.now()
  const first = findSameFile(rider, sha256, nowMs)
  if (first && world.settings.duplicate_uploads === 'refuse') {
    return refuseUpload(world, 'this file was uploaded before')
  }
  world.counts.uploads.accepted++
  if (first && world.settings.duplicate_uploads === 'same-path') return acceptUpload(file, first.path)
  const path = makeWord(makeRandom(sha256, randomUUID()), 16)
  const samplesAtMs = nowMs + world.settings.sample_delay_ms
  const activity = addActivity(rider, {
    path,
    seed: sha256,
    name: fields.get('name') || file.name,
    description: null,
    activityType: typeOf(verdict.sport),
    zone: { style: 3, name: rider.home.zone },
    home: rider.home,
    startMs: startedAt.getTime(),
    seconds: verdict.records,
    source: { kind: 'file', track: readFitTrack(bytes, startedAt), sha256 },
    updatedMs: nowMs,
    samplesAtMs,
  })
  if (first) activity.hiddenAtMs = samplesAtMs
  return acceptUpload(file, path)
}

function findSameFile(rider: Rider, sha256: string, nowMs: number): Activity | undefined {
  return [...rider.activities.values()].find(
    (activity) =>
      activity.source.kind === 'file' && activity.source.sha256 === sha256 && isListed(activity, nowMs),
  )
}

function acceptUpload(file: File, path: string): Reply {
  const url = `/activity/${path}`
  const named = { name: file.name, size: file.size, type: file.type }
  const entry = { ...named, url, deleteType: 'DELETE', deleteUrl: url }
  return json(200, { success: true, json: { files: [entry] } })
}

function refuseUpload(world: World, error: string): Reply {
  world.counts.uploads.refused++
  return json(200, { success: false, error })
}

function typeOf(sport: string | null): string {
  if (sport === 'running' || sport === 'walking' || sport === 'hiking') return 'Running'
  if (sport === 'swimming') return 'Swimming'
  return sport === 'multisport' ? 'Multisport' : 'Cycling'
}

/**
 * Reads the records of a complete FIT activity into a track in time order, as leniently as the service: compressed times, several sessions
 * and chained files. A record without a time follows the previous record by a second, or begins at `startedAt`. An invalid field counts as
 * not recorded.
 */
export function readFitTrack(bytes: Uint8Array, startedAt: Date): Track {
  const moments: Array<{ timeMs: number; values: Map<Column, number> }> = []
  let nextMs = startedAt.getTime()
  const walker = makeFitWalker(() => ({
    onMessage(message) {
      const { number, time } = message
      if (number !== RECORD.message) return
      const timeMs = time !== null && time >= FIRST_ABSOLUTE_TIME ? (time + FIT_EPOCH_S) * 1_000 : nextMs
      nextMs = timeMs + 1_000
      moments.push({ timeMs, values: readValues(message) })
    },
    end: () => undefined,
  }))
  walker.push(bytes)
  moments.sort((a, b) => a.timeMs - b.timeMs)
  const track = makeTrack(moments.length)
  for (const [i, { timeMs, values }] of moments.entries()) {
    track.unixMs[i] = timeMs
    for (const [column, value] of values) track[column][i] = value
  }
  return track
}

type Column = Exclude<keyof Track, 'unixMs' | 'tgt'>

/** A field of a record (FIT profile, message 20): its size in bytes, the raw value that means no value, and the conversion of its raw value. */
type Field = { column: Column; size: 1 | 2 | 4; nothing: number; value: (raw: number) => number }

const same = (raw: number) => raw
const degrees = (raw: number) => (raw | 0) * (180 / 2 ** 31)
const metres = (raw: number) => raw / 5 - 500
const perSecond = (raw: number) => raw / 1_000

/** A later field overrides an earlier field of the same column: the enhanced field overrides the plain one. */
const FIELDS: ReadonlyArray<readonly [number, Field]> = [
  [0, { column: 'lat', size: 4, nothing: 0x7fffffff, value: degrees }],
  [1, { column: 'lng', size: 4, nothing: 0x7fffffff, value: degrees }],
  [2, { column: 'alt', size: 2, nothing: 0xffff, value: metres }],
  [3, { column: 'hr', size: 1, nothing: 0xff, value: same }],
  [4, { column: 'cad', size: 1, nothing: 0xff, value: same }],
  [5, { column: 'dist', size: 4, nothing: 0xffffffff, value: (raw) => raw / 100 }],
  [6, { column: 'spd', size: 2, nothing: 0xffff, value: perSecond }],
  [7, { column: 'power', size: 2, nothing: 0xffff, value: same }],
  [73, { column: 'spd', size: 4, nothing: 0xffffffff, value: perSecond }],
  [78, { column: 'alt', size: 4, nothing: 0xffffffff, value: metres }],
]

function readValues(message: FitMessage): Map<Column, number> {
  const values = new Map<Column, number>()
  for (const [number, { column, size, nothing, value }] of FIELDS) {
    const raw = readNumber(message, number, size)
    if (raw !== undefined && raw !== nothing) values.set(column, value(raw))
  }
  return values
}

import { createHash, randomUUID } from 'node:crypto'
import { judgeFit } from '../../fit/judge.ts'
import { makeRandom, makeWord } from '../athlete/random.ts'
import { readUploadForm, type UploadedFile } from '../http/multipart.ts'
import { json, type Reply } from '../http/reply.ts'
import type { Request } from '../http/request.ts'
import { type Activity, isListed } from '../state/activity.ts'
import { addActivity, type Rider } from '../state/rider.ts'
import type { World } from '../state/world.ts'
import { readFitTrack } from './fit-records.ts'

/**
 * Answers POST /oauth/upload: a whole FIT activity becomes an activity at once and gets its samples later. What is no
 * FIT activity is refused with `success: false` and status 200. The new path is the last part of `json.files[0].url`.
 */
export async function answerUpload(deps: { world: World; rider: Rider }, request: Request): Promise<Reply> {
  const { world, rider } = deps
  const { file, fields } = await readUploadForm(request)
  if (!file) return refuseUpload(world, 'the part named file is missing')
  const verdict = judgeFit(file.bytes)
  if (verdict.verdict === 'unready') return refuseUpload(world, `the file is damaged: ${verdict.code}`)
  if (verdict.verdict === 'refused') return refuseUpload(world, verdict.reason)
  const sha256 = createHash('sha256').update(file.bytes).digest('hex')
  const nowMs = world.now().getTime()
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
    name: fields.get('name') || file.fileName,
    description: null,
    activityType: typeOf(verdict.sport),
    zone: { style: 3, name: 'America/Toronto' },
    startMs: verdict.startedAt.getTime(),
    seconds: verdict.records,
    source: { kind: 'file', track: readFitTrack(file.bytes, verdict.startedAt), sha256 },
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

function acceptUpload(file: UploadedFile, path: string): Reply {
  const url = `/activity/${path}`
  const entry = {
    name: file.fileName,
    size: file.bytes.length,
    type: file.type,
    url,
    deleteType: 'DELETE',
    deleteUrl: url,
  }
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

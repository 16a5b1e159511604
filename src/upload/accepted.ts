import { recordAbsent } from '../store/activities/absent.ts'
import type { Tx } from '../store/store.ts'
import type { Claims } from '../store/uploads/upload-claims.ts'
import { upsertUploaded } from '../store/uploads/uploaded-activities.ts'
import { recordUploadState, type Upload, type UploadState } from '../store/uploads/uploads.ts'
import { CLOCKS_WITHIN_MS, type Listed, START_WITHIN_MS } from './upload-deps.ts'

/** States in which an acceptance is news. */
const UNSETTLED: readonly UploadState[] = ['seen', 'sending', 'unconfirmed']
/** An activity that cannot be fetched this soon after it was taken is looked for. */
const TWIN_AFTER_MS = 10_000

/**
 * Records that the service took a content and shows it as `path` (null: it did not say as which). The activity becomes
 * wanted. One that another content stands for, or that the mirror knew before the file was seen, makes the row a
 * `duplicate` of it: the service had it already. Undefined when the row is settled by someone else.
 */
export async function recordAccepted(
  tx: Tx,
  input: { upload: Upload; path: string | null; claims: Claims; now: Date },
): Promise<Upload | undefined> {
  const { upload, path, claims, now } = input
  const { accountId, contentId } = upload
  const key = { accountId, contentId }
  const accepted = { acceptedAt: upload.acceptedAt ?? now, activityPath: path, looks: 0, settleAfter: null }
  const looked = { ...accepted, reason: null, nextTryAt: new Date(now.getTime() + TWIN_AFTER_MS) }
  if (path === null) {
    return recordUploadState(tx, key, { ...looked, state: 'accepted', activityId: null }, UNSETTLED)
  }
  const from = [...UNSETTLED, 'accepted', 'mirrored'] as const
  const known = claims.known.get(path)
  const twin = describeTwin(input, path)
  if (twin !== undefined) {
    const acceptedAt = upload.acceptedAt ?? now
    return recordDuplicate(tx, { ...input, path, reason: twin }, { acceptedAt })
  }
  if (known?.complete) {
    const end = { ...looked, activityId: known.activityId, mirroredAt: now, nextTryAt: null }
    return recordUploadState(tx, key, { ...end, state: 'mirrored' }, from)
  }
  const activityId = await upsertUploaded(tx, { accountId, path, listedAt: now })
  return recordUploadState(tx, key, { ...looked, state: 'accepted', activityId, mirroredAt: null }, from)
}

/** Records that the service has a content as an activity which it did not make from this file. */
export async function recordDuplicate(
  tx: Tx,
  input: { upload: Upload; path: string; reason: string; claims: Claims; now: Date },
  more: { acceptedAt?: Date } = {},
): Promise<Upload | undefined> {
  const { upload, path, reason, claims, now } = input
  const { accountId } = upload
  const activityId =
    claims.known.get(path)?.activityId ?? (await upsertUploaded(tx, { accountId, path, listedAt: now }))
  const end = { activityPath: path, activityId, reason, looks: 0, settleAfter: null, nextTryAt: null }
  return recordUploadState(tx, upload, { ...end, ...more, state: 'duplicate' })
}

/** Whether an activity came after the file was seen and no other content stands for it, so that it can be the file's own. */
export function isNew(upload: Upload, claims: Claims, path: string): boolean {
  if (claims.claimed.has(path)) return false
  const known = claims.known.get(path)
  return !known || known.firstSeenAt.getTime() >= upload.seenAt.getTime() - CLOCKS_WITHIN_MS
}

/** Marks the activity that an upload stood for until now as gone, so that it is asked for no more. */
export async function recordReplaced(tx: Tx, input: { upload: Upload; path: string; now: Date }) {
  const { accountId, activityId, activityPath } = input.upload
  if (activityId === null || activityPath === input.path) return
  await recordAbsent(tx, { accountId, activityIds: [activityId], absentSince: input.now })
}

function describeTwin(input: { upload: Upload; claims: Claims }, path: string): string | undefined {
  const { upload, claims } = input
  const file = claims.claimed.get(path)
  if (file !== undefined) return `the service shows it as activity ${path}, which came from "${file}"`
  if (path === upload.activityPath || isNew(upload, claims, path)) return undefined
  return `the service shows it as activity ${path}, which it had before`
}

export type Match = { kind: 'found'; path: string } | { kind: 'none' } | { kind: 'unclear'; paths: string[] }

/** Starts closer than this say nothing about which is nearer: services cut or round to seconds. */
const SAME_MS = 1_500

/**
 * Chooses the listed activity that a FIT file has become: the one whose start is nearest to the file's, two minutes away at
 * most, and to no rival's start nearer than to this. Of several that are as near, the one that bears the file's name.
 */
export function matchActivity(input: {
  startedAt: Date
  fileName: string
  candidates: readonly Listed[]
  rivals: readonly Date[]
}): Match {
  const start = input.startedAt.getTime()
  const near = input.candidates
    .flatMap(({ path, name, startedAt }) => {
      if (!startedAt) return []
      const away = Math.abs(startedAt.getTime() - start)
      const rival = input.rivals.reduce(
        (least, other) => Math.min(least, Math.abs(startedAt.getTime() - other.getTime())),
        Number.POSITIVE_INFINITY,
      )
      return away <= START_WITHIN_MS && away <= rival + SAME_MS ? [{ path, name, away }] : []
    })
    .sort((a, b) => a.away - b.away)
  const [nearest] = near
  if (!nearest) return { kind: 'none' }
  const alike = near.filter(({ away }) => away - nearest.away < SAME_MS)
  if (alike.length === 1) return { kind: 'found', path: nearest.path }
  const named = alike.filter(({ name }) => name !== null && isNameOf(name, input.fileName))
  const [one] = named
  if (one && named.length === 1) return { kind: 'found', path: one.path }
  return { kind: 'unclear', paths: alike.map(({ path }) => path) }
}

/** Without a name of its own an activity is called after its file; services differ in whether the ending stays. */
function isNameOf(name: string, fileName: string): boolean {
  return name === fileName || name === fileName.replace(/\.fit$/i, '')
}

import type { RejectedError } from '../kit/errors.ts'
import { backoffMs, DAY } from '../kit/time.ts'
import type { Account } from '../store/accounts.ts'
import type { Tx } from '../store/store.ts'
import { findClaims } from '../store/uploads/upload-claims.ts'
import { upsertUploaded } from '../store/uploads/uploaded-activities.ts'
import { findUpload, recordUploadState, type Upload } from '../store/uploads/uploads.ts'
import {
  isNew,
  type Match,
  matchActivity,
  recordAccepted,
  recordDuplicate,
  recordReplaced,
} from './accepted.ts'
import {
  type Listed,
  LOOK_BACKOFF,
  SETTLE_MS,
  START_WITHIN_MS,
  TWIN_BACKOFF,
  TWIN_SURE_MS,
  TWIN_WITHIN_MS,
  type UploadDeps,
} from './upload-deps.ts'

/**
 * Settles one ledger row that is due by looking at the activity list near the file's start (service document, endpoint 9),
 * and returns it; undefined when there was nothing to settle. A sending whose process died becomes `unconfirmed` first.
 * `unconfirmed`: found is accepted; not found after the settling time is `seen` again, and only then sent again. `accepted`
 * or `mirrored` with an activity that is gone: what has taken its place, or nothing after a while. Throws the client's
 * errors, with a later look on record.
 */
export async function settleUpload(
  deps: UploadDeps,
  input: { account: Account; contentId: string; signal?: AbortSignal },
): Promise<Upload | undefined> {
  const { account, contentId, signal } = input
  const key = { accountId: account.accountId, contentId }
  const askedAt = deps.now()
  await deps.store.transaction(async (tx) => {
    const settleAfter = new Date(askedAt.getTime() + SETTLE_MS)
    const reason = 'the process that sent it ended before the answer came'
    const change = { state: 'unconfirmed' as const, reason, settleAfter, nextTryAt: askedAt, looks: 0 }
    await recordUploadState(tx, key, change, { from: ['sending'], dueAt: askedAt })
  })
  const upload = await deps.store.read((tx) => findUpload(tx, key))
  if (!upload?.startedAt || !isDue(upload, askedAt)) return undefined
  const { startedAt } = upload
  let listed: Listed[]
  try {
    const around = await listAround(deps, { account, startedAt, ...(signal && { signal }) })
    listed = around.listed
  } catch (error) {
    await deps.store.transaction((tx) => recordUploadState(tx, key, pause(upload, askedAt), [upload.state]))
    throw error
  }
  const settled = await deps.store.transaction((tx) => settle(tx, { key, listed, askedAt }))
  if (settled && settled.state !== upload.state) {
    const { fileName, state, activityPath, reason } = settled
    deps.log.info({ file: fileName, contentId, state, path: activityPath, reason }, 'upload settled')
  }
  if (
    settled?.state === 'accepted' &&
    settled.activityId !== null &&
    settled.activityId !== upload.activityId
  ) {
    const wanted = { accountId: key.accountId, activityId: settled.activityId }
    await deps.onWanted?.(wanted).catch(() => undefined)
  }
  return settled
}

function isDue(upload: Upload, now: Date): boolean {
  if (upload.state === 'mirrored') return upload.looks === 0
  const looked = upload.state === 'unconfirmed' || upload.state === 'accepted'
  return looked && upload.nextTryAt !== null && upload.nextTryAt <= now
}

async function settle(
  tx: Tx,
  input: { key: { accountId: number; contentId: string }; listed: Listed[]; askedAt: Date },
): Promise<Upload | undefined> {
  const { listed, askedAt } = input
  const paths = listed.map(({ path }) => path)
  const claims = await findClaims(tx, input.key, paths)
  // Under the lock of the claims, so that nobody changes it meanwhile.
  const upload = await findUpload(tx, input.key)
  if (!upload?.startedAt || !isDue(upload, askedAt)) return undefined
  const known = { startedAt: upload.startedAt, fileName: upload.fileName }
  const fresh = listed.filter(({ path }) => isNew(upload, claims, path))
  if (upload.state === 'unconfirmed') {
    const match = matchActivity({ ...known, candidates: fresh, rivals: claims.rivals })
    if (match.kind === 'found') return recordAccepted(tx, { upload, path: match.path, claims, now: askedAt })
    return recordUploadState(tx, upload, stillUnconfirmed(upload, match, askedAt), ['unconfirmed'])
  }
  const path = upload.activityPath
  if (path !== null && paths.includes(path)) {
    // The service knew nothing of it when it was asked for too early.
    await upsertUploaded(tx, { accountId: upload.accountId, path, listedAt: askedAt })
    return recordUploadState(tx, upload, pause(upload, askedAt), [upload.state])
  }
  if (path !== null && isTooEarly(upload, askedAt)) {
    return recordUploadState(tx, upload, pause(upload, askedAt), [upload.state])
  }
  const own = matchActivity({ ...known, candidates: fresh, rivals: claims.rivals })
  const match = own.kind === 'found' ? own : matchActivity({ ...known, candidates: listed, rivals: [] })
  if (match.kind !== 'found') return recordUploadState(tx, upload, stillGone(upload, askedAt), [upload.state])
  await recordReplaced(tx, { upload, path: match.path, now: askedAt })
  return recordAccepted(tx, { upload, path: match.path, claims, now: askedAt })
}

function stillUnconfirmed(upload: Upload, match: Match, askedAt: Date) {
  if (match.kind === 'unclear') {
    const reason = `it may be any of the activities ${match.paths.join(', ')}; if it is none, run: musette upload --force FILE`
    return { ...pause(upload, askedAt), reason }
  }
  const { settleAfter } = upload
  if (settleAfter && settleAfter <= askedAt) {
    const reason = 'the service did not take it; it is sent again'
    return { state: 'seen' as const, reason, nextTryAt: null, settleAfter: null, looks: 0 }
  }
  const next = pause(upload, askedAt)
  const nextTryAt = settleAfter && settleAfter < next.nextTryAt ? settleAfter : next.nextTryAt
  return { ...next, nextTryAt }
}

/** A path that was just named and is not listed yet is no reason to take an activity of the same start for it. */
function isTooEarly(upload: Upload, now: Date): boolean {
  const since = upload.acceptedAt ?? upload.seenAt
  return upload.state === 'accepted' && now.getTime() - since.getTime() < TWIN_SURE_MS
}

/** Asking for what is gone ends: at once when its samples had been here, else after a week. */
function stillGone(upload: Upload, askedAt: Date) {
  const since = upload.acceptedAt ?? upload.seenAt
  const over = upload.state === 'mirrored' || askedAt.getTime() - since.getTime() > TWIN_WITHIN_MS
  if (!over) return pause(upload, askedAt)
  const reason = `the service no longer shows activity ${upload.activityPath ?? '(unnamed)'}, nor another of that start`
  return { state: upload.state, looks: upload.looks + 1, nextTryAt: null, reason }
}

function pause(upload: Upload, now: Date) {
  const { state } = upload
  const looks = upload.looks + 1
  const backoff = state === 'unconfirmed' ? LOOK_BACKOFF : TWIN_BACKOFF
  return { state, looks, nextTryAt: new Date(now.getTime() + backoffMs(backoff, looks)) }
}

type Span = { listed: Listed[]; paths: string[] }

/** What the list's span is wider than needed, on both sides: a service may take it as wall-clock time of some zone. */
const ZONES_MS = 1 * DAY

/** Lists the activities that started within two minutes of `startedAt` (service document, endpoint 9). Throws the client's errors. */
async function listAround(
  deps: Pick<UploadDeps, 'listStarted'>,
  input: { account: Account; startedAt: Date; signal?: AbortSignal },
): Promise<Span> {
  const start = input.startedAt.getTime()
  const from = new Date(start - ZONES_MS)
  const to = new Date(start + ZONES_MS)
  const all = await deps.listStarted(input.account, { from, to }, input.signal)
  const listed = all.filter(
    ({ startedAt }) => startedAt && Math.abs(startedAt.getTime() - start) <= START_WITHIN_MS,
  )
  return { listed, paths: listed.map(({ path }) => path) }
}

const CONFLICT = 409

/**
 * Looks for what a refusal may mean, since it does not say why. When the service lists an activity of the file's start, the
 * file is there: as this file's own if an earlier sending of it may have arrived, else as one it is a `duplicate` of; that
 * is an end, with a link to the twin. Undefined when there is none, and when the list cannot be had: then it is refused.
 */
export async function settleRefusal(
  deps: UploadDeps,
  input: { account: Account; signal?: AbortSignal },
  refused: { upload: Upload; error: RejectedError },
): Promise<Upload | undefined> {
  const { upload, error } = refused
  const { startedAt, fileName } = upload
  if (!startedAt || (error.code !== 'success_false' && error.status !== CONFLICT)) return undefined
  const { account, signal } = input
  let around: Span
  try {
    around = await listAround(deps, { account, startedAt, ...(signal && { signal }) })
  } catch {
    return undefined
  }
  const now = deps.now()
  return deps.store.transaction(async (tx) => {
    const claims = await findClaims(tx, upload, around.paths)
    const match = matchActivity({ startedAt, fileName, candidates: around.listed, rivals: [] })
    if (match.kind !== 'found') return undefined
    const { path } = match
    if (upload.attempts > 1 && isNew(upload, claims, path))
      return recordAccepted(tx, { upload, path, claims, now })
    const reason = `the service refused it and has activity ${path} of the same start`
    return recordDuplicate(tx, { upload, path, reason, claims, now })
  })
}

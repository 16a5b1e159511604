import type { RejectedError } from '../../kit/errors.ts'
import { type Backoff, backoffMs, DAY, MINUTE, SECOND } from '../../kit/time.ts'
import type { Account } from '../store/account-rows.ts'
import type { Tx } from '../store/store.ts'
import {
  findClaims,
  findUpload,
  recordUploadState,
  type Upload,
  type UploadChange,
  upsertUploaded,
} from '../store/uploads/uploads.ts'
import { distanceTo, type Match, matchActivity, START_WITHIN_MS } from './match-activity.ts'
import type { Listed, UploadDeps } from './upload-deps.ts'
import { isNew, recordAccepted, recordDuplicate, recordReplaced, UNCONFIRMED_MS } from './upload-outcome.ts'

/** Backoff between checks of an upload whose response was lost. */
const UNCONFIRMED_BACKOFF: Backoff = { firstMs: 5 * SECOND, maxMs: 5 * MINUTE, factor: 3 }
/** Backoff between checks of an accepted upload whose activity cannot be fetched. */
const GONE_BACKOFF: Backoff = { firstMs: 10 * SECOND, maxMs: 1 * DAY, factor: 4 }
/** How long a new activity may be missing from the list before another activity can count as its replacement. */
const LISTED_WITHIN_MS = 30 * SECOND
/** How long an accepted upload is checked if its activity can neither be fetched nor has a replacement. */
const GONE_WITHIN_MS = 7 * DAY
/** Margin of the requested span on both sides: a service may interpret its bounds as local times of some zone. */
const ZONES_MS = 1 * DAY
const CONFLICT = 409

/**
 * Checks one due ledger row against the activities near the file's start (service document, endpoint 9) and returns it; undefined if no row is
 * due. First turns a row whose sender died into `unconfirmed`. An `unconfirmed` row with an activity becomes accepted; without one after the
 * waiting time it becomes `seen`, to be sent again. An `accepted` or `mirrored` row without its activity gets the replacement, or after a
 * while no further check. Throws the client's errors after it recorded the time of the next check.
 */
export async function checkUpload(
  deps: UploadDeps,
  input: { account: Account; contentId: string; signal?: AbortSignal | undefined },
): Promise<Upload | undefined> {
  const { account, contentId, signal } = input
  const key = { accountId: account.accountId, contentId }
  const requestedAt = deps.now()
  const resendAfter = new Date(requestedAt.getTime() + UNCONFIRMED_MS)
  const reason = 'the process that sent it ended before the service answered'
  const died = { state: 'unconfirmed' as const, reason, resendAfter, nextTryAt: requestedAt, checks: 0 }
  await deps.store.transaction((tx) =>
    recordUploadState(tx, key, died, { from: ['sending'], dueAt: requestedAt }),
  )
  const upload = await deps.store.read((tx) => findUpload(tx, key))
  if (!upload || startsOf(upload).length === 0 || !isDue(upload, requestedAt)) return undefined
  const near = { account, starts: startsOf(upload), signal }
  const listed = await listNear(deps, near).catch(async (error: unknown) => {
    await deps.store.transaction((tx) =>
      recordUploadState(tx, key, nextCheck(upload, requestedAt), { from: [upload.state] }),
    )
    throw error
  })
  const checked = await deps.store.transaction((tx) => checkRow(tx, { key, listed, requestedAt }))
  if (checked && checked.state !== upload.state) {
    const { fileName, state, activityPath, reason } = checked
    deps.log.info({ file: fileName, contentId, state, path: activityPath, reason }, 'upload checked')
  }
  const activityId = checked?.state === 'accepted' ? checked.activityId : null
  if (activityId !== null && activityId !== upload.activityId)
    await deps.onWanted({ accountId: key.accountId, activityId })?.catch(() => undefined)
  return checked
}

function isDue(upload: Upload, now: Date): boolean {
  if (upload.state === 'mirrored') return upload.checks === 0
  const isChecked = upload.state === 'unconfirmed' || upload.state === 'accepted'
  return isChecked && upload.nextTryAt !== null && upload.nextTryAt <= now
}

async function checkRow(
  tx: Tx,
  input: { key: { accountId: number; contentId: string }; listed: Listed[]; requestedAt: Date },
): Promise<Upload | undefined> {
  const { listed, requestedAt } = input
  const paths = listed.map(({ path }) => path)
  const claims = await findClaims(tx, input.key, paths)
  // This reads the row under the lock of findClaims, so no other process changes it.
  const upload = await findUpload(tx, input.key)
  if (!upload || !isDue(upload, requestedAt)) return undefined
  const record = (change: UploadChange) => recordUploadState(tx, upload, change, { from: [upload.state] })
  const known = factsOf(upload)
  const candidates = listed.filter(({ path }) => isNew(upload, claims, path))
  const own = matchActivity({ ...known, candidates, rivals: claims.rivals })
  if (upload.state === 'unconfirmed') {
    if (own.kind !== 'found') return record(stillUnconfirmed(upload, own, requestedAt))
    return recordAccepted(tx, { upload, path: own.path, claims, now: requestedAt })
  }
  const path = upload.activityPath
  const isListed = path !== null && paths.includes(path)
  // The first fetch came before the service had it.
  if (isListed) await upsertUploaded(tx, { accountId: upload.accountId, path, listedAt: requestedAt })
  if (isListed || (path !== null && isTooEarly(upload, requestedAt)))
    return record(nextCheck(upload, requestedAt))
  const match = own.kind === 'found' ? own : matchActivity({ ...known, candidates: listed, rivals: [] })
  if (match.kind !== 'found') return record(stillGone(upload, requestedAt))
  await recordReplaced(tx, { upload, path: match.path, now: requestedAt })
  return recordAccepted(tx, { upload, path: match.path, claims, now: requestedAt })
}

function stillUnconfirmed(upload: Upload, match: Match, requestedAt: Date) {
  if (match.kind === 'unclear') {
    const reason = `it may be any of the activities ${match.paths.join(', ')}; if it is none of them, run: musette upload --force FILE`
    return { ...nextCheck(upload, requestedAt), reason }
  }
  const { resendAfter } = upload
  if (resendAfter && resendAfter <= requestedAt) {
    const reason = 'the service did not accept it; musette sends it again'
    return { state: 'seen' as const, reason, nextTryAt: null, resendAfter: null, checks: 0 }
  }
  const next = nextCheck(upload, requestedAt)
  const nextTryAt = resendAfter && resendAfter < next.nextTryAt ? resendAfter : next.nextTryAt
  return { ...next, nextTryAt }
}

/** Reports whether the list may not show a new activity yet: until then, another activity with its start must not replace it. */
function isTooEarly(upload: Upload, now: Date): boolean {
  const since = upload.acceptedAt ?? upload.seenAt
  return upload.state === 'accepted' && now.getTime() - since.getTime() < LISTED_WITHIN_MS
}

/** Ends the checks for a missing activity: at once if its samples are mirrored, otherwise after a week. */
function stillGone(upload: Upload, requestedAt: Date) {
  const since = upload.acceptedAt ?? upload.seenAt
  const over = upload.state === 'mirrored' || requestedAt.getTime() - since.getTime() > GONE_WITHIN_MS
  if (!over) return nextCheck(upload, requestedAt)
  const reason = `the service no longer shows activity ${upload.activityPath ?? '(unnamed)'}, nor another with its start`
  return { state: upload.state, checks: upload.checks + 1, nextTryAt: null, reason }
}

function nextCheck(upload: Upload, now: Date) {
  const { state } = upload
  const checks = upload.checks + 1
  const backoff = state === 'unconfirmed' ? UNCONFIRMED_BACKOFF : GONE_BACKOFF
  return { state, checks, nextTryAt: new Date(now.getTime() + backoffMs(backoff, checks)) }
}

function factsOf({ startedAt, otherStarts, fileName }: Upload) {
  return { startedAt, otherStarts: (otherStarts ?? []).map((start) => new Date(start)), fileName }
}

function startsOf(upload: Upload): Date[] {
  const { startedAt, otherStarts } = factsOf(upload)
  return [...(startedAt ? [startedAt] : []), ...otherStarts]
}

/** Lists the activities that started within two minutes of a file's starts (service document, endpoint 9). Throws the client's errors. */
export async function listNear(
  deps: Pick<UploadDeps, 'listStarted'>,
  input: { account: Account; starts: readonly Date[]; signal?: AbortSignal | undefined },
): Promise<Listed[]> {
  const starts = input.starts.toSorted((a, b) => a.getTime() - b.getTime())
  const listed = new Map<string, Listed>()
  let to = Number.NEGATIVE_INFINITY
  for (const start of starts) {
    if (start.getTime() <= to - ZONES_MS) continue
    const from = new Date(Math.max(to, start.getTime() - ZONES_MS))
    const near = starts.filter((other) => other.getTime() <= start.getTime() + ZONES_MS)
    to = (near.at(-1) ?? start).getTime() + ZONES_MS
    const all = await deps.listStarted(input.account, { from, to: new Date(to) }, input.signal)
    for (const one of all) if (distanceTo(one.startedAt, starts) <= START_WITHIN_MS) listed.set(one.path, one)
  }
  return [...listed.values()]
}

/**
 * Checks whether the service refused a file because it already has the activity; a refusal gives no reason. If the list has an activity with
 * the file's start, the row becomes accepted if an earlier request may have arrived, otherwise a `duplicate`. Returns undefined, so that the
 * file is refused, if there is none or the list cannot be fetched.
 */
export async function checkRefusal(
  deps: UploadDeps,
  input: { account: Account; signal?: AbortSignal | undefined },
  refused: { upload: Upload; error: RejectedError },
): Promise<Upload | undefined> {
  const { upload, error } = refused
  if (startsOf(upload).length === 0 || (error.code !== 'success_false' && error.status !== CONFLICT))
    return undefined
  const { account, signal } = input
  const near = { account, starts: startsOf(upload), signal }
  const listed = await listNear(deps, near).catch(() => undefined)
  if (!listed) return undefined
  const now = deps.now()
  return deps.store.transaction(async (tx) => {
    const paths = listed.map(({ path }) => path)
    const claims = await findClaims(tx, upload, paths)
    const match = matchActivity({ ...factsOf(upload), candidates: listed, rivals: [] })
    if (match.kind !== 'found') return undefined
    const { path } = match
    if (upload.attempts > 1 && isNew(upload, claims, path))
      return recordAccepted(tx, { upload, path, claims, now })
    const reason = `the service refused it and has activity ${path} with the same start`
    return recordDuplicate(tx, { upload, path, reason, claims, now })
  })
}

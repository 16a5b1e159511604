import { commandFor, errorLine, RejectedError, TransientError } from '../../kit/errors.ts'
import { quoteName, quoteText } from '../../kit/text.ts'
import { MINUTE, SECOND } from '../../kit/time.ts'
import { readContents } from '../fit/fit-contents.ts'
import { contentIdOf, type ReadFit } from '../fit/read-fit.ts'
import { parseUploadedPath } from '../service/service.ts'
import type { Account } from '../store/account-rows.ts'
import { findCursor } from '../store/runs.ts'
import { findSentFiles, holdsRecords } from '../store/uploads/kept-fit.ts'
import {
  findClaims,
  findUpload,
  findUploadSentAs,
  recordUploadAlive,
  recordUploadSeen,
  recordUploadState,
  type Upload,
  type UploadKey,
} from '../store/uploads/uploads.ts'
import { attachFile, findRecorded, SAME_START_MS, seenOf, type WholeFile } from './attach-file.ts'
import { checkRefusal, checkUpload, listNear } from './check-upload.ts'
import { normalizeFit } from './fit-rows.ts'
import { keepFit, keepWhole, loadFit } from './keep-fit.ts'
import { distanceTo } from './match-activity.ts'
import type { UploadDeps } from './upload-deps.ts'
import { judgeFailure, OPEN_STATES, recordAccepted } from './upload-outcome.ts'

/** A sender counts as dead after this time. A live sender renews its lease four times as often. */
const LEASE_MS = 1 * MINUTE
const LEASE_RENEW_MS = 15 * SECOND
/** Pause before a file is checked again whose activity is not fetched yet: a fetch takes seconds, a whole history minutes. */
const AWAITED_MS = 1 * MINUTE

type SendInput = {
  account: Account
  /** a file with its final verdict: whole, or refused with the reason */
  fit: ReadFit
  name?: string
  /** what to do with content whose result is in the ledger: nothing, send the content if it was refused, or always send the content */
  again: 'never' | 'refused' | 'always'
  /** when the file came to its place; content refused after this time is not sent again */
  since?: Date
  /** a person uploads it: pauses between attempts are skipped */
  byHand?: boolean
  signal?: AbortSignal | undefined
}

/** The ledger row after an attempt. `error`: why nothing was accepted; also undefined if nothing was sent. */
type Attempt = { upload: Upload; error: unknown }
/** `known`: the ledger already had the result. `paused`: the content is sent again after a pause. */
type SendResult = Attempt & { known: boolean; paused: boolean }

/**
 * Sends a FIT file's content to the service through the ledger (service document, endpoint 10). Records a file that is not a whole FIT
 * activity as `refused` without sending it. Sends content that the ledger knows again only if `again` allows it. Checks a lost response if
 * that is due. Attaches the file of a ride that the mirror already has (see findRecorded). Holds the bytes in memory only while they are read
 * or sent, within the shared budget. Throws RejectedError `other_version` for another version of a sent ride, TransientError `file_changed`,
 * and the errors of the database, of reading, and of the client during a check.
 */
export async function sendFile(deps: UploadDeps, input: SendInput): Promise<SendResult> {
  const { fit } = input
  const { verdict } = fit
  if (verdict.verdict !== 'whole') return refuse(deps, input, verdict.reason)
  const known = await findKnown(deps, input, verdict.startedAt)
  if (known) return known
  const whole = { ...input, whole: verdict }
  const settled = deps.knownActivities === 'attach' ? await settleKnown(deps, whole) : undefined
  const send = async () => sendOnce(deps, { ...whole, bytes: await loadFit(fit) })
  return { known: false, paused: false, ...(settled ?? (await deps.memory(fit.sizeBytes, send))) }
}

async function refuse(deps: UploadDeps, input: SendInput, reason: string): Promise<SendResult> {
  const { account, fit } = input
  const { name: fileName, contentId, sizeBytes } = fit
  const { accountId } = account
  const { upload, isNew } = await recordRefused(deps, { accountId, contentId, fileName, sizeBytes, reason })
  if (fit.cut) await keepWhole(deps, input)
  return { known: !isNew, paused: false, upload, error: undefined }
}

/** Returns the ledger's result for the content, after checking a lost response if due; undefined if the content is to be sent now. */
async function findKnown(
  deps: UploadDeps,
  input: SendInput,
  startedAt: Date | null,
): Promise<SendResult | undefined> {
  const { account, fit, signal } = input
  const { contentId } = fit
  const row = await deps.store.read((tx) => findUpload(tx, { accountId: account.accountId, contentId }))
  if (!row) return input.again === 'always' ? undefined : findSameRide(deps, input, startedAt)
  const resend = judgeResend(row, input, deps.now())
  let upload = resend === 'now' ? await reopen(deps, row) : row
  if (isInDoubt(upload)) upload = (await checkUpload(deps, { account, contentId, signal })) ?? upload
  const isPaused = upload.nextTryAt !== null && upload.nextTryAt > deps.now()
  if (upload.state === 'seen' && !isPaused) return undefined
  await keepWhole(deps, input)
  return { known: upload.state !== 'seen', paused: resend === 'later', upload, error: undefined }
}

/** Reports whether the response to a sent file is unknown. */
const isInDoubt = ({ state }: Upload) => state === 'sending' || state === 'unconfirmed'

/** Returns the result of the same ride that was sent as a longer file. Throws RejectedError `other_version`, see rejectOtherVersion. */
async function findSameRide(
  deps: UploadDeps,
  input: SendInput,
  startedAt: Date | null,
): Promise<SendResult | undefined> {
  const { account, fit } = input
  const key = { accountId: account.accountId, contentId: fit.contentId }
  const longer = await deps.store.read((tx) => findUploadSentAs(tx, key))
  const sent = longer && (await checkSent(deps, input, longer))
  if (!sent) await rejectOtherVersion(deps, input, startedAt)
  return sent
}

/** Error code for a ride whose activity is listed but not fetched yet: only this file waits. */
export const ACTIVITY_AWAITED = 'ride_awaited'
/** Error code for another version of a sent ride: a person decides whether to send it as well. */
export const OTHER_VERSION = 'other_version'
/** Two files of one device with the same start are versions of one ride if this many first records are equal. */
const ALIKE_RECORDS = 10

/** Throws RejectedError `other_version` if another version of the ride was sent; recorders save several versions. */
async function rejectOtherVersion(
  deps: UploadDeps,
  { account: { accountId, name }, fit }: SendInput,
  startedAt: Date | null,
): Promise<void> {
  const key = { accountId, contentId: fit.contentId }
  const sent = startedAt ? await deps.store.read((tx) => findSentFiles(tx, { ...key, startedAt })) : []
  if (sent.length === 0) return
  const { file, records } = await deps.memory(fit.sizeBytes, async () =>
    normalizeFit(readContents(await loadFit(fit)), { sizeBytes: fit.sizeBytes, readAt: deps.now() }),
  )
  const device = [file.manufacturer, file.productNumber, file.serialNumber].filter((part) => part != null)
  for (const other of sent) {
    const first = { ...records, count: Math.min(ALIKE_RECORDS, records.count, other.records) }
    if (first.count === 0 || other.device !== device.join(' ')) continue
    if (!(await deps.store.read((tx) => holdsRecords(tx, other.fileId, first, 'first')))) continue
    const size = records.count > other.records ? 'a longer' : 'another'
    const what = `it is ${size} version (${records.count} records) of the ride that was sent as ${quoteText(other.fileName)}`
    const sentAs = `${other.records} records, activity ${quoteName(other.path ?? 'not named yet')}`
    const run = `to send it as well, run: ${commandFor('upload --force', name)} FILE`
    throw new RejectedError(OTHER_VERSION, `${what} (${sentAs}); ${run}; otherwise remove it`)
  }
}

/**
 * Settles the file of a ride that the service already has without sending it: attaches the file to the activity, lets it wait for the
 * activity, or makes it a `duplicate` with the reason why it cannot be attached. Returns undefined if no activity has the file's start.
 */
async function settleKnown(deps: UploadDeps, input: SendInput & WholeFile): Promise<Attempt | undefined> {
  const found = await findRecorded(deps, input)
  if (found.activity)
    return { upload: (await attachFile(deps, input, found.activity)).upload, error: undefined }
  const listed = found.isUnknown ? await findListedOnly(deps, input) : undefined
  if (found.isUnknown && !listed) return undefined
  const reason = listed ? `activity ${listed} has its start, but is not mirrored yet` : found.reason
  const waits = found.isAwaited === true || listed !== undefined
  const { account, fit } = input
  const seen = seenOf(input, deps.now())
  const change = waits
    ? { state: 'seen' as const, nextTryAt: new Date(seen.seenAt.getTime() + AWAITED_MS) }
    : { state: 'duplicate' as const, nextTryAt: null, activityId: null, activityPath: null }
  const upload = await deps.store.transaction(async (tx) => {
    const { upload: row } = await recordUploadSeen(tx, seen)
    return (await recordUploadState(tx, seen, { ...change, reason }, { from: ['seen'] })) ?? row
  })
  deps.log[waits ? 'debug' : 'warn']({ file: fit.name, reason }, 'file not sent')
  await keepWhole(deps, input)
  const message = `upload: ${fit.name}: ${reason}; run: ${commandFor('sync', account.name)}`
  return { upload, error: waits ? new TransientError(ACTIVITY_AWAITED, message) : undefined }
}

/** Returns an activity with the file's start from the service's list, unless the mirror was polled after the ride. */
async function findListedOnly(
  deps: UploadDeps,
  { account, whole: { starts, endedAt }, signal }: SendInput & WholeFile,
): Promise<string | undefined> {
  const key = { accountId: account.accountId, resource: 'activities' }
  const cursor = await deps.store.read((tx) => findCursor(tx, key))
  if (cursor && (endedAt?.getTime() ?? 0) < cursor.advancedAt.getTime()) return undefined
  const listed = await listNear(deps, { account, starts, signal })
  return listed.find(({ startedAt }) => distanceTo(startedAt, starts) <= SAME_START_MS)?.path
}

/** Returns the result if the same ride was sent before as a longer file, with bytes after the ride's end. Returns undefined if not. */
async function checkSent(deps: UploadDeps, { account, signal }: SendInput, longer: Upload) {
  const { contentId } = longer
  const checked = isInDoubt(longer) && (await checkUpload(deps, { account, contentId, signal }))
  const upload = checked || longer
  if (upload.state === 'seen' || upload.state === 'refused') return undefined
  return { known: !OPEN_STATES.includes(upload.state), paused: false, upload, error: undefined }
}

/** Records content that is not a FIT activity as refused, without sending it. Keeps a result that the ledger already has. */
export async function recordRefused(
  deps: UploadDeps,
  input: { accountId: number; contentId: string; fileName: string; sizeBytes: number; reason: string },
): Promise<{ upload: Upload; isNew: boolean }> {
  const { reason, ...seen } = input
  const recorded = await deps.store.transaction(async (tx) => {
    const row = await recordUploadSeen(tx, { ...seen, startedAt: null, seenAt: deps.now() })
    const upload = await recordUploadState(tx, row.upload, { state: 'refused', reason }, { from: ['seen'] })
    return { upload: upload ?? row.upload, isNew: row.isNew }
  })
  // A file that stays in its place is read again after each restart.
  const level = recorded.isNew ? 'warn' : 'debug'
  deps.log[level]({ file: input.fileName, contentId: input.contentId, reason }, 'file refused')
  return recorded
}

/** Returns whether to send known content again: no, now, or after its pause. */
function judgeResend(upload: Upload, input: SendInput, now: Date): 'no' | 'now' | 'later' {
  if (upload.state === 'sending') return 'no'
  if (upload.state === 'seen') return input.byHand ? 'now' : 'no'
  if (input.again === 'always') return 'now'
  if (upload.state !== 'refused' || input.again !== 'refused') return 'no'
  if (input.byHand) return 'now'
  // A refused file is sent again only after a person moved it back.
  if (input.since && input.since <= (upload.sentAt ?? upload.seenAt)) return 'no'
  return upload.nextTryAt === null || upload.nextTryAt <= now ? 'now' : 'later'
}

/** Prepares a row to be sent again. The row counts as seen now, so that older activities of the service do not match it. */
async function reopen(deps: UploadDeps, upload: Upload): Promise<Upload> {
  const seenAt = upload.state === 'seen' ? upload.seenAt : deps.now()
  const change = { state: 'seen' as const, seenAt, nextTryAt: null, resendAfter: null, checks: 0 }
  const reopened = await deps.store.transaction((tx) =>
    recordUploadState(tx, upload, change, { from: [upload.state], attempts: upload.attempts }),
  )
  return reopened ?? upload
}

type OnceInput = SendInput & WholeFile & { bytes: Buffer }

/**
 * Sends a content once: writes the row, sends the request, writes the row again and marks the new activity as wanted. Only the process that
 * claims the row sends it, and only if the row is `seen` and due; any other row is returned unchanged. If the response is lost after the whole
 * body was sent, the row is `unconfirmed` and checked before it is sent again. Throws only the errors of the database and MusetteErrors.
 */
async function sendOnce(deps: UploadDeps, input: OnceInput): Promise<Attempt> {
  const seen = seenOf(input, deps.now())
  // The row is committed separately, before anything else.
  const { upload } = await deps.store.transaction((tx) => recordUploadSeen(tx, seen))
  const now = seen.seenAt
  const claimed = await deps.store.transaction((tx) =>
    recordUploadState(tx, seen, { ...sendingFrom(now), sentContentId: null }, { from: ['seen'], dueAt: now }),
  )
  if (!claimed) return { upload, error: undefined }
  // The file's content is in SQL even if the service is slow or down.
  const kept = keepFit(deps, { key: claimed, fileName: seen.fileName, load: async () => input.bytes })
  try {
    return await sendClaimed(deps, input, claimed)
  } finally {
    await kept
  }
}

async function sendClaimed(deps: UploadDeps, input: OnceInput, upload: Upload): Promise<Attempt> {
  const { account, fit, bytes, name, signal } = input
  let bodySent = false
  const onSent = () => {
    bodySent = true
  }
  const file = { fileName: fit.name, bytes, onSent, ...(name !== undefined && { name }) }
  let path: string | null
  try {
    const answer = await withLease(deps, upload, () => deps.serviceOf(account).uploadFit(file, signal))
    path = parseUploadedPath(answer.value) ?? null
  } catch (error) {
    return recordFailure(deps, input, { upload, error, bodySent })
  }
  return { upload: await accept(deps, upload, path), error: undefined }
}

async function accept(deps: UploadDeps, upload: Upload, path: string | null): Promise<Upload> {
  const { accountId, contentId, fileName } = upload
  const now = deps.now()
  const accepted = await deps.store.transaction(async (tx) => {
    const claims = await findClaims(tx, upload, path === null ? [] : [path])
    return recordAccepted(tx, { upload, path, claims, now })
  })
  if (!accepted) throw new Error('the ledger row of an accepted upload is there')
  deps.log.info({ file: fileName, contentId, path, state: accepted.state }, 'file uploaded')
  const { activityId } = accepted
  if (activityId !== null && accepted.state === 'accepted') {
    await deps.onWanted({ accountId, activityId })?.catch(() => undefined)
  }
  return accepted
}

async function recordFailure(
  deps: UploadDeps,
  input: OnceInput,
  failed: { upload: Upload; error: unknown; bodySent: boolean },
): Promise<Attempt> {
  const { upload, error } = failed
  const known = error instanceof RejectedError && (await checkRefusal(deps, input, { upload, error }))
  if (known) return { upload: known, error }
  const shorter = error instanceof RejectedError && (await claimShorter(deps, input, upload))
  if (shorter) return sendClaimed(deps, shorter.input, shorter.upload)
  const change = judgeFailure({ ...failed, now: deps.now() })
  const recorded = await deps.store.transaction((tx) =>
    recordUploadState(tx, upload, change, { from: ['sending'], attempts: upload.attempts }),
  )
  // A long outage is logged once.
  const level = change.state === 'refused' ? 'error' : change.reason === upload.reason ? 'debug' : 'warn'
  const { state, reason } = change
  const fields = { file: upload.fileName, state, reason, attempts: upload.attempts, err: error }
  deps.log[level](fields, 'file not uploaded')
  return { upload: recorded ?? upload, error }
}

/**
 * Claims a refused file's row again without the bytes after the file's end; returns undefined if there are none, or another process has the
 * row. The ledger records the shorter content before it is sent, so that the same bytes are recognized later.
 */
async function claimShorter(deps: UploadDeps, input: OnceInput, { attempts, ...key }: Upload) {
  const { sizeBytes } = input.whole
  if (input.bytes.length === sizeBytes) return undefined
  const bytes = input.bytes.subarray(0, sizeBytes)
  const behind = input.bytes.length - sizeBytes
  const change = { ...sendingFrom(deps.now()), sentContentId: await contentIdOf([bytes]) }
  const upload = await deps.store.transaction((tx) =>
    recordUploadState(tx, key, change, { from: ['sending'], attempts }),
  )
  if (upload)
    deps.log.warn({ file: key.fileName, behind }, 'file refused; sent without the bytes after its end')
  return upload && { input: { ...input, bytes }, upload }
}

/** Runs `work` and renews the row's lease. Once a lease expires, another process checks the row before anything is sent again. */
async function withLease<T>(
  deps: UploadDeps,
  upload: UploadKey & { attempts: number },
  work: () => Promise<T>,
): Promise<T> {
  const { accountId, contentId, attempts } = upload
  const renew = () => {
    const until = leaseEnd(deps.now())
    deps.store
      .transaction((tx) => recordUploadAlive(tx, { accountId, contentId }, { attempts, until }))
      .catch((error: unknown) => deps.log.debug({ reason: errorLine(error) }, 'upload: lease not renewed'))
  }
  const timer = setInterval(renew, LEASE_RENEW_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

function sendingFrom(now: Date) {
  return { state: 'sending' as const, sentAt: now, nextTryAt: leaseEnd(now), countAttempt: true }
}

function leaseEnd(now: Date): Date {
  return new Date(now.getTime() + LEASE_MS)
}

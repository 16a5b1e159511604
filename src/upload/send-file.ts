import { createHash } from 'node:crypto'
import type { ReadFit } from '../fit/read-fit.ts'
import { TransientError } from '../kit/errors.ts'
import type { Account } from '../store/accounts.ts'
import { findUpload, recordUploadSeen, recordUploadState, type Upload } from '../store/uploads/uploads.ts'
import { settleUpload } from './check-status.ts'
import type { UploadDeps } from './upload-deps.ts'
import { type UploadTry, uploadFit } from './upload-file.ts'

type OfferInput = {
  account: Account
  /** a file that is judged for good: whole, or refused with the reason */
  fit: ReadFit
  name?: string
  /** what to do with a content that the ledger has an end for: leave it, send again what was refused, send it anyway */
  again: 'never' | 'refused' | 'always'
  /** since when the file lies where it is; what was refused since then is not sent again */
  since?: Date
  /** a person asks: pauses between tries do not hold */
  byHand?: boolean
  signal?: AbortSignal
}

/** What became of one FIT content: its ledger row. `known`: it had its end before; `early`: it is tried again later. */
type Offered = UploadTry & { known: boolean; early: boolean }

/**
 * Offers one file to the service through the ledger. What is no whole FIT activity is `refused` with the reason and never
 * sent; what the ledger knows is not sent again, unless `again` says so; a lost answer is looked for when it is due. Its bytes
 * are in memory only while they are sent, within the budget that all files share. Throws what database and client throw while
 * looking, what reading throws, and TransientError `file_changed`.
 */
export async function offerFit(deps: UploadDeps, input: OfferInput): Promise<Offered> {
  const { account, fit, signal } = input
  const { name: fileName, contentId, sizeBytes, verdict } = fit
  const key = { accountId: account.accountId, contentId }
  if (verdict.verdict !== 'whole') {
    const { reason } = verdict
    const refused = await recordRefused(deps, { ...key, fileName, sizeBytes, reason })
    return { known: !refused.isNew, early: false, upload: refused.upload, error: undefined }
  }
  let before = await deps.store.read((tx) => findUpload(tx, key))
  const asked = before ? judgeAgain(before, input, deps.now()) : 'no'
  if (before && asked === 'now') before = await reopen(deps, before)
  if (before?.state === 'sending' || before?.state === 'unconfirmed') {
    before = (await settleUpload(deps, { account, contentId, ...(signal && { signal }) })) ?? before
  }
  const isPaused = before?.nextTryAt && before.nextTryAt > deps.now()
  if (before && (before.state !== 'seen' || isPaused)) {
    return { known: before.state !== 'seen', early: asked === 'later', upload: before, error: undefined }
  }
  const tried = await deps.memory(sizeBytes, async () => {
    const bytes = await loadFit(fit)
    const { startedAt } = verdict
    const file = { fileName, contentId, startedAt, bytes }
    const name = input.name === undefined ? {} : { name: input.name }
    return uploadFit(deps, { account, file, ...name, ...(signal && { signal }) })
  })
  return { known: false, early: false, ...tried }
}

/** Records something that is no FIT activity as refused, never sent; what the ledger has an end for stays as it is. */
export async function recordRefused(
  deps: UploadDeps,
  input: { accountId: number; contentId: string; fileName: string; sizeBytes: number; reason: string },
): Promise<{ upload: Upload; isNew: boolean }> {
  const { reason, ...seen } = input
  const recorded = await deps.store.transaction(async (tx) => {
    const row = await recordUploadSeen(tx, { ...seen, startedAt: null, seenAt: deps.now() })
    const upload = await recordUploadState(tx, row.upload, { state: 'refused', reason }, ['seen'])
    return { upload: upload ?? row.upload, isNew: row.isNew }
  })
  // A file that stays in its place is looked at again after each restart.
  const level = recorded.isNew ? 'warn' : 'debug'
  deps.log[level]({ file: input.fileName, contentId: input.contentId, reason }, 'file refused')
  return recorded
}

/** Loads the bytes that were judged; they are sent only if they are still the same. */
async function loadFit({ name, open, sizeBytes, contentId }: ReadFit): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(sizeBytes)
  const hash = createHash('sha256')
  let place = 0
  for await (const chunk of open()) {
    hash.update(chunk)
    bytes.set(chunk.subarray(0, sizeBytes - place), place)
    place += chunk.length
    if (place > sizeBytes) break
  }
  if (place !== sizeBytes || hash.digest('hex') !== contentId) {
    throw new TransientError('file_changed', `upload: ${name} changed while it was read`)
  }
  return bytes
}

/** Whether a content is to be sent again that the ledger knows: now, or when its pause is over. */
function judgeAgain(upload: Upload, input: OfferInput, now: Date): 'no' | 'now' | 'later' {
  if (upload.state === 'sending') return 'no'
  if (upload.state === 'seen') return input.byHand ? 'now' : 'no'
  if (input.again === 'always') return 'now'
  if (upload.state !== 'refused' || input.again !== 'refused') return 'no'
  if (input.byHand) return 'now'
  // A refusal is an end for as long as nobody moves the file back.
  if (input.since && input.since <= (upload.sentAt ?? upload.seenAt)) return 'no'
  return upload.nextTryAt === null || upload.nextTryAt <= now ? 'now' : 'later'
}

/** Makes a row ready to be sent anew; it counts as seen now, so that what the service has had since before is no match. */
async function reopen(deps: UploadDeps, upload: Upload): Promise<Upload> {
  const seenAt = upload.state === 'seen' ? upload.seenAt : deps.now()
  const change = { state: 'seen' as const, seenAt, nextTryAt: null, settleAfter: null, looks: 0 }
  const reopened = await deps.store.transaction((tx) =>
    recordUploadState(tx, upload, change, { from: [upload.state], attempts: upload.attempts }),
  )
  return reopened ?? upload
}

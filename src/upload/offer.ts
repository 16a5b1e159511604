import { Readable } from 'node:stream'
import { contentIdOf } from '../fit/content-id.ts'
import { judgeFit } from '../fit/judge.ts'
import type { Account } from '../store/accounts.ts'
import { findUpload, recordUploadSeen, recordUploadState, type Upload } from '../store/uploads.ts'
import type { UploadDeps } from './deps.ts'
import { settleUpload } from './settle.ts'
import { type UploadTry, uploadFit } from './upload.ts'

export type OfferInput = {
  account: Account
  fileName: string
  bytes: Uint8Array
  /** the file came out of an archive: what is cut in there never becomes whole */
  packed: boolean
  name?: string
  /** what to do with a content that the ledger has an end for: leave it, send again what was refused, send it anyway */
  again: 'never' | 'refused' | 'always'
  /** a person asks: pauses between tries do not hold */
  byHand?: boolean
  signal?: AbortSignal
}

/** What became of one FIT content: its ledger row, or that it is not whole yet. `known`: it had its end before. */
export type Offered = { verdict: 'unready' } | ({ verdict: 'judged'; known: boolean } & UploadTry)

/**
 * Offers the bytes of one file to the service through the ledger. What is no FIT activity is `refused` with the reason and
 * never sent; what the ledger knows is not sent again, unless `again` says so; a lost answer is looked for when it is due.
 * Throws what database and client throw while looking.
 */
export async function offerFit(deps: UploadDeps, input: OfferInput): Promise<Offered> {
  const { account, fileName, bytes, signal } = input
  const key = { accountId: account.accountId, contentId: contentIdOf(bytes) }
  const judged = judgeFit(bytes)
  if (judged.verdict === 'unready' && !input.packed) return { verdict: 'unready' }
  if (judged.verdict !== 'whole') {
    const reason = judged.verdict === 'refused' ? judged.reason : 'the FIT file in the archive is not whole'
    const refused = await recordRefused(deps, { ...key, fileName, sizeBytes: bytes.length, reason })
    return { verdict: 'judged', known: false, upload: refused, error: undefined }
  }
  let before = await deps.store.read((tx) => findUpload(tx, key))
  if (before && isAsked(before, input, deps.now())) before = await reopen(deps, before)
  if (before?.state === 'sending' || before?.state === 'unconfirmed') {
    before =
      (await settleUpload(deps, { account, contentId: key.contentId, ...(signal && { signal }) })) ?? before
  }
  if (before && before.state !== 'seen') {
    return { verdict: 'judged', known: true, upload: before, error: undefined }
  }
  const file = {
    fileName,
    contentId: key.contentId,
    sizeBytes: bytes.length,
    startedAt: judged.startedAt,
    open: () => Readable.from([Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)]),
  }
  const { name } = input
  const tried = await uploadFit(deps, {
    account,
    file,
    ...(name !== undefined && { name }),
    ...(signal && { signal }),
  })
  return { verdict: 'judged', known: false, ...tried }
}

/** Records something that is no FIT activity as refused, never sent; what the ledger has an end for stays as it is. */
export async function recordRefused(
  deps: UploadDeps,
  input: { accountId: number; contentId: string; fileName: string; sizeBytes: number; reason: string },
): Promise<Upload> {
  const { reason, ...seen } = input
  const upload = await deps.store.transaction(async (tx) => {
    const row = await recordUploadSeen(tx, { ...seen, startedAt: null, seenAt: deps.now() })
    return (await recordUploadState(tx, row.upload, { state: 'refused', reason }, ['seen'])) ?? row.upload
  })
  deps.log.warn({ file: input.fileName, contentId: input.contentId, reason }, 'file refused')
  return upload
}

function isAsked(upload: Upload, input: OfferInput, now: Date): boolean {
  if (upload.state === 'sending') return false
  if (upload.state === 'seen') return input.byHand === true
  if (input.again === 'always') return true
  if (upload.state !== 'refused' || input.again !== 'refused') return false
  return input.byHand === true || upload.nextTryAt === null || upload.nextTryAt <= now
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

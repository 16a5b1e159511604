import type { RejectedError } from '../kit/errors.ts'
import type { Account } from '../store/accounts.ts'
import type { Upload } from '../store/uploads.ts'
import { findClaims } from '../store/uploads-due.ts'
import { isNew, recordAccepted, recordDuplicate } from './accept.ts'
import type { UploadDeps } from './deps.ts'
import { listAround, type Span } from './listing.ts'
import { matchActivity } from './match.ts'

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

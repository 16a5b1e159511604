import { constants } from 'node:buffer'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { decodeGzip } from '../../kit/decode-gzip.ts'
import { errorLine, TransientError } from '../../kit/errors.ts'
import { readContents } from '../fit/fit-contents.ts'
import type { ReadFit } from '../fit/read-fit.ts'
import type { Account } from '../store/account-rows.ts'
import {
  findFitBody,
  findFitKept,
  findFitOriginalKeys,
  recordFit,
  recordFitOriginal,
  replaceFit,
} from '../store/uploads/kept-fit.ts'
import type { UploadKey } from '../store/uploads/uploads.ts'
import { normalizeFit } from './fit-rows.ts'
import type { UploadDeps } from './upload-deps.ts'

const pack = promisify(gzip)

type KeepDeps = Pick<UploadDeps, 'store' | 'log' | 'memory' | 'now' | 'keepFit'>
type KeepInput = { key: UploadKey; fileName: string; load: () => Promise<Buffer> }

/**
 * Records the content of a ledger's FIT file in fit_files and its related tables, and keeps its bytes. Keeps existing rows, unless an earlier
 * version read them. Records the readable part of a damaged file. Logs an error and returns false instead of throwing, because the upload does
 * not depend on it.
 */
export async function keepFit(deps: KeepDeps, { key, fileName, load }: KeepInput): Promise<boolean> {
  const { accountId, contentId } = key
  try {
    const kept = await deps.store.read((tx) => findFitKept(tx, key))
    const keepsBytes = deps.keepFit && !kept.hasBytes
    if (kept.isRead && !keepsBytes) return true
    const bytes = await load()
    const rows = normalizeFit(readContents(bytes), { sizeBytes: bytes.length, readAt: deps.now() })
    const { sessions, laps, devices, fields, records, messages } = rows
    if (records.count + sessions.length + laps.length + devices.length === 0) return true
    const body = keepsBytes ? await pack(bytes) : undefined
    const isNew = await deps.store.transaction(async (tx) => {
      const made = await recordFit(tx, { accountId, contentId }, rows)
      if (!made && !kept.isRead) await replaceFit(tx, { accountId, contentId }, rows)
      if (body) await recordFitOriginal(tx, { accountId, contentId }, body)
      return made
    })
    const counts = {
      ...{ records: records.count, messages: messages.length, laps: laps.length },
      ...{ sessions: sessions.length, devices: devices.length, fields: fields.length },
    }
    if (isNew) deps.log.info({ file: fileName, contentId, ...counts }, 'FIT file read')
    if (isNew && rows.file.problem) {
      deps.log.warn({ file: fileName, contentId, reason: rows.file.problem }, 'FIT file read in part')
    }
    return true
  } catch (error) {
    const fields = { file: fileName, contentId, reason: errorLine(error), err: error }
    deps.log.error(
      fields,
      'FIT file not read: its laps and devices are missing; to try again, run: musette upload FILE',
    )
    return false
  }
}

/**
 * Reads an account's kept FIT files again and corrects the tables. Returns the number of files read. Logs and skips a file that cannot be
 * read. Throws the signal's reason and the database's errors.
 */
export async function rebuildFit(
  { store, log, now }: Pick<UploadDeps, 'store' | 'log' | 'now'>,
  { accountId, signal }: { accountId: number; signal?: AbortSignal | undefined },
): Promise<number> {
  const keys = await store.read((tx) => findFitOriginalKeys(tx, accountId))
  let count = 0
  for (const key of keys) {
    signal?.throwIfAborted()
    const body = await store.read((tx) => findFitBody(tx, key))
    if (!body) continue
    try {
      const bytes = await decodeGzip(body, constants.MAX_LENGTH)
      const rows = normalizeFit(readContents(bytes), { sizeBytes: bytes.length, readAt: now() })
      await store.transaction((tx) => replaceFit(tx, key, rows))
      count++
    } catch (error) {
      if (error instanceof TransientError) throw error
      log.error({ contentId: key.contentId, reason: errorLine(error) }, 'a kept FIT file cannot be read')
    }
  }
  return count
}

/** Keeps the content of a file that is not sent now: a file in the ledger that was never read, or an incomplete file; see keepFit. */
export async function keepWhole(
  deps: KeepDeps,
  { account: { accountId }, fit }: { account: Pick<Account, 'accountId'>; fit: ReadFit },
): Promise<boolean> {
  const { contentId, name: fileName, sizeBytes } = fit
  const key = { accountId, contentId }
  return deps.memory(sizeBytes, () => keepFit(deps, { key, fileName, load: () => loadFit(fit) }))
}

/** Loads the judged bytes. Throws TransientError `file_changed` if they have changed. */
export async function loadFit({ name, open, sizeBytes, contentId }: ReadFit): Promise<Buffer> {
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

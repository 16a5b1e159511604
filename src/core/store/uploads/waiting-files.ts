import { eq, lt, or } from 'drizzle-orm'
import { HOUR } from '../../../kit/time.ts'
import { cleanNullable, cleanText } from '../clean.ts'
import { waitingFiles } from '../schema/index.ts'
import type { Tx } from '../store.ts'

/** The files that wait in a drop folder, and problems of the folder itself, as its watcher found them. */
export type WaitingReport = {
  folder: string
  waiting: ReadonlyArray<{
    code: string
    reason: string
    relativePath: string
    account: string | null
    sizeBytes: number | null
    sinceMs: number
  }>
  lookedAt: Date
  /** whether the watcher has just started, perhaps with another folder than before */
  isFirst?: boolean
}

/** Maximum recorded rows: enough for a person to read. All rows are rewritten at each change, and the log has the full number. */
const MAX_ROWS = 1_000
/** A folder without a scan for this long is no longer watched, or has another path. */
const FORGOTTEN_AFTER_MS = HOUR

/**
 * Replaces the waiting files of a folder; records only the first 1,000. The first report of a watcher deletes the files of all folders:
 * nobody reports on a removed folder, and the other folders are reported again within minutes.
 */
export async function recordWaitingFiles(tx: Tx, report: WaitingReport): Promise<void> {
  const { folder, waiting, lookedAt, isFirst } = report
  const forgotten = new Date(lookedAt.getTime() - FORGOTTEN_AFTER_MS)
  await tx.db
    .delete(waitingFiles)
    .where(
      isFirst
        ? undefined
        : or(eq(waitingFiles.folder, cleanText(folder)), lt(waitingFiles.lookedAt, forgotten)),
    )
  if (waiting.length === 0) return
  await tx.db.insert(waitingFiles).values(
    waiting.slice(0, MAX_ROWS).map((each) => ({
      folder: cleanText(folder),
      path: cleanText(each.relativePath),
      accountName: cleanNullable(each.account),
      sizeBytes: each.sizeBytes,
      code: each.code,
      reason: cleanText(each.reason),
      waitingSince: new Date(each.sinceMs),
      lookedAt,
    })),
  )
}

/** The code of a file that is not a FIT file. A person can read why; no check, count or message includes it. */
export const NOT_TAKEN = 'not_taken'

/** A row of `training.waiting_files`. */
export type WaitingFile = {
  folder: string
  path: string
  account: string | null
  size_bytes: number | null
  code: string
  reason: string
  waiting_since: Date
}

/** Finds the waiting files of all drop folders, longest waiting first. */
export async function findWaitingFiles(tx: Tx): Promise<WaitingFile[]> {
  const { rows } = await tx.client.query<WaitingFile>(
    `select folder, path, account_name as account, size_bytes::float8 as size_bytes, code, reason, waiting_since
     from training.waiting_files order by waiting_since, path`,
  )
  return rows
}

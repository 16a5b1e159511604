import { eq, lt, or } from 'drizzle-orm'
import { DAY } from '../../kit/time.ts'
import { cleanNullable, cleanText } from '../clean.ts'
import { waitingFiles } from '../schema/index.ts'
import type { Tx } from '../store.ts'

/** What waits in a drop folder, or is wrong with the folder itself, as its watcher saw it. */
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
}

/** The rows are for people, and written anew at every change; the log says how many more there are. */
const MOST_ROWS = 1_000
/** A folder that nobody has looked at for so long is watched no more, or under another name. */
const FORGOTTEN_AFTER_MS = 7 * DAY

/** Records what waits in a folder now, in place of what waited there before; of more than 1,000 files the first. */
export async function recordWaitingFiles(tx: Tx, report: WaitingReport): Promise<void> {
  const { folder, waiting, lookedAt } = report
  const forgotten = new Date(lookedAt.getTime() - FORGOTTEN_AFTER_MS)
  await tx.db
    .delete(waitingFiles)
    .where(or(eq(waitingFiles.folder, cleanText(folder)), lt(waitingFiles.lookedAt, forgotten)))
  if (waiting.length === 0) return
  await tx.db.insert(waitingFiles).values(
    waiting.slice(0, MOST_ROWS).map((each) => ({
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

/** A row for people and programs, in the words of the view. */
export type WaitingFile = {
  folder: string
  path: string
  account: string | null
  size_bytes: number | null
  code: string
  reason: string
  waiting_since: Date
}

/** Finds what waits in all drop folders, the longest first. */
export async function findWaitingFiles(tx: Tx): Promise<WaitingFile[]> {
  const { rows } = await tx.client.query<WaitingFile>(
    `select folder, path, account_name as account, size_bytes::float8 as size_bytes, code, reason, waiting_since
     from training.waiting_files order by waiting_since, path`,
  )
  return rows
}

import type { Store, Tx } from '../../../core/store/store.ts'
import { startWork } from '../../../kit/release-stack.ts'
import { SECOND, sleep } from '../../../kit/time.ts'

/** The number of copied rows, and of all rows. */
export type CopyProgress = { done: number; total: number }

const LOOK_EVERY_MS = SECOND / 2
const COPIED = 'SELECT tuples_processed::float8 AS rows FROM pg_stat_progress_copy WHERE pid = $1'

export type CopyWatch = Awaited<ReturnType<typeof watchCopy>>

/**
 * Watches a client's COPY over a second connection (`pg_stat_progress_copy`). Reports at the beginning, every half second, and at the end
 * of each table. Ignores a failed query of the progress.
 */
export async function watchCopy(
  store: Pick<Store, 'read'>,
  client: Pick<Tx['client'], 'query'>,
  { total, onProgress }: { total: number; onProgress: (now: CopyProgress) => void },
) {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const pid = rows[0]?.pid ?? 0
  let copied = 0
  let shown = 0
  const show = (rows: number) => {
    // The counts of the previous table and of the next table may arrive in the wrong order.
    shown = Math.min(total, Math.max(shown, rows))
    onProgress({ done: shown, total })
  }
  const watch = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      await sleep(LOOK_EVERY_MS, signal)
      const before = copied
      const seen = await store
        .read((tx) => tx.client.query<{ rows: number }>(COPIED, [pid]))
        .catch(() => undefined)
      if (before === copied) show(copied + (seen?.rows[0]?.rows ?? 0))
    }
  }
  show(0)
  const watching = startWork((signal) => watch(signal).catch(() => undefined))
  return {
    /** Adds the rows of a finished table. */
    add(rows: number): void {
      copied += rows
      show(copied)
    },
    /** Ends the watch. Must always be called. */
    stop: watching.close,
  }
}

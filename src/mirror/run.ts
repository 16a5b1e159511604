import { errorCode, errorLine, isAbort } from '../kit/errors.ts'
import { type RunResult, recordRunFinished, recordRunStarted } from '../store/runs.ts'
import type { Store } from '../store/store.ts'

/** What a run counts while it works; the row in `sync_runs` is written from it. */
export type RunTally = { listed: number; changed: number; fetched: number; absent: number; failed: number }

/**
 * Keeps a row in `sync_runs` about one unit of mirroring: started now, and at the end what it counted and how it
 * ended, also when it throws. A row left at `running` means that the process died.
 */
export async function withRun<T>(
  store: Store,
  input: { accountId: number; resource: string; kind: string },
  work: (tally: RunTally) => Promise<T>,
): Promise<T> {
  const tally: RunTally = { listed: 0, changed: 0, fetched: 0, absent: 0, failed: 0 }
  const runId = await store.transaction((tx) => recordRunStarted(tx, input))
  const finish = (end: Pick<RunResult, 'outcome' | 'errorCode' | 'error'>) =>
    store.transaction((tx) => recordRunFinished(tx, runId, { ...tally, ...end }))
  let result: T
  try {
    result = await work(tally)
  } catch (error) {
    // The work's error is the one to report; when the database is away too, the row is found `running` and abandoned.
    await finish({
      outcome: 'failed',
      errorCode: isAbort(error) ? 'aborted' : errorCode(error),
      error: errorLine(error),
    }).catch(() => undefined)
    throw error
  }
  await finish({ outcome: tally.failed > 0 ? 'partial' : 'done' })
  return result
}

import type { App } from '../../../app/app.ts'
import { findAccounts } from '../../../store/account-rows.ts'
import { findRecentRuns } from '../../../store/runs.ts'
import type { Sent } from '../../shared/sent.ts'

/** The content of the page as the browser receives it. */
export type View = Sent<typeof findRuns>

/** Some hours of polls. */
const RUNS_SHOWN = 100

/** Finds the last runs, newest first. */
export async function findRuns({ store }: Pick<App, 'store'>) {
  const { accounts, runs } = await store.read(async (tx) => ({
    accounts: await findAccounts(tx),
    runs: await findRecentRuns(tx, { limit: RUNS_SHOWN }),
  }))
  const names = new Map(accounts.map(({ accountId, name }) => [accountId, name]))
  return {
    accounts: accounts.length,
    runs: runs.map((run) => ({
      account: run.accountId === null ? null : (names.get(run.accountId) ?? null),
      resource: run.resource,
      kind: run.kind,
      started_at: run.startedAt,
      finished_at: run.finishedAt,
      outcome: run.outcome,
      listed: run.listed,
      changed: run.changed,
      fetched: run.fetched,
      absent: run.absent,
      failed: run.failed,
      error: run.error,
    })),
  }
}

import type { App } from '../../app/app.ts'
import { findStatus, type Status } from '../../app/status-report.ts'
import { findActivityLines, findUploadLines } from '../../store/dashboard/overview-page.ts'
import type { Overview } from '../../web/dashboard/dashboard-types.ts'

type AccountStatus = Status['accounts'][number]

/** The lines of one list, enough for a screen. */
const LINES_SHOWN = 15

/** Finds the content of the first page. */
export async function findOverview(app: Pick<App, 'config' | 'store'>): Promise<Overview> {
  const status = await findStatus(app)
  const lines = await app.store.read(async (tx) => ({
    uploads: await findUploadLines(tx, { limit: LINES_SHOWN }),
    activities: await findActivityLines(tx, { limit: LINES_SHOWN }),
  }))
  return {
    accounts: status.accounts.map(viewOf),
    failed: status.failed_activities,
    uploads: lines.uploads,
    waiting: status.waiting_files.slice(0, LINES_SHOWN).map(({ path, account, reason, waiting_since }) => ({
      path,
      account,
      reason,
      waiting_since,
    })),
    activities: lines.activities,
    // Without the path of the folder, which is not for the page.
    backup: status.backup && {
      done_at: status.backup.done_at,
      bytes: status.backup.bytes,
      problem: status.backup.problem,
    },
  }
}

/** Selects the fields of an account for the page. The rate is left out when nothing is wanted, because it changes all the time. */
function viewOf({ base_url: baseUrl, cursor, list_cap, reconciled_at, last_run, ...account }: AccountStatus) {
  const busy = account.wanted > 0
  return {
    ...account,
    // Only the host, because a URL may contain a path that is not for the page.
    service: URL.canParse(baseUrl) ? new URL(baseUrl).host : '',
    fetched_per_minute: busy ? account.fetched_per_minute : null,
    seconds_to_go: busy ? account.seconds_to_go : null,
  }
}

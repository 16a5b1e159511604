import type { App } from '../app/app.ts'
import { findStatus, type Status } from '../app/status-report.ts'
import { SECOND } from '../kit/time.ts'
import { findAccounts } from '../store/account-rows.ts'
import {
  findActivityFacts,
  findBests,
  findCurve,
  findNeighbours,
  findSampleColumns,
} from '../store/dashboard/activity-page.ts'
import {
  findFitnessNow,
  findLoadColumns,
  findSignatureColumns,
  findWeekColumns,
} from '../store/dashboard/fitness-page.ts'
import { findActivityLines, findUploadLines } from '../store/dashboard/overview-page.ts'
import { findRecentRuns } from '../store/runs.ts'
import type { DashboardDeps } from '../web/dashboard-types.ts'
import { makeCachedProbe } from './cached-probe.ts'

type AccountStatus = Status['accounts'][number]

/** The lines of one list, enough for a screen; the page requests older ones. */
const LINES_SHOWN = 15
const OLDER_SHOWN = 30
/** The overview is cached, so that several open pages cost the database as much as one. */
const OVERVIEW_KEEP_MS = 1 * SECOND

/** Makes the views of the dashboard from the store. */
export function makeDashboard(app: Pick<App, 'config' | 'store'>): DashboardDeps {
  const { store } = app
  return {
    findOverview: makeCachedProbe(() => findOverview(app), { keepMs: OVERVIEW_KEEP_MS }),
    findOlderActivities: ({ than }) =>
      store.read((tx) => findActivityLines(tx, { limit: OLDER_SHOWN, than })),
    findActivity: (input) => findActivity(app, input),
    findSamples: ({ activityId }) =>
      store.read(async (tx) =>
        (await findActivityFacts(tx, activityId)) ? findSampleColumns(tx, activityId) : undefined,
      ),
    findFitness: (input) => findFitness(app, input),
  }
}

async function findOverview(app: Pick<App, 'config' | 'store'>) {
  const status = await findStatus(app)
  const lines = await app.store.read(async (tx) => ({
    accounts: await findAccounts(tx),
    uploads: await findUploadLines(tx, { limit: LINES_SHOWN }),
    runs: await findRecentRuns(tx, { limit: LINES_SHOWN }),
    activities: await findActivityLines(tx, { limit: LINES_SHOWN }),
  }))
  const names = new Map(lines.accounts.map(({ accountId, name }) => [accountId, name]))
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
    runs: lines.runs.map((run) => ({
      account: run.accountId === null ? null : (names.get(run.accountId) ?? null),
      resource: run.resource,
      kind: run.kind,
      started_at: run.startedAt,
      finished_at: run.finishedAt,
      outcome: run.outcome,
      listed: run.listed,
      changed: run.changed,
      fetched: run.fetched,
      failed: run.failed,
      error: run.error,
    })),
  }
}

async function findActivity({ store }: Pick<App, 'store'>, { activityId }: { activityId: number }) {
  return await store.read(async (tx) => {
    const facts = await findActivityFacts(tx, activityId)
    if (!facts) return undefined
    const season = facts.started_at_local === null ? null : Number(facts.started_at_local.slice(0, 4))
    const curve = await findCurve(tx, { activityId, accountId: facts.account_id, season })
    return { facts, season, curve, ...(await findNeighbours(tx, activityId)) }
  })
}

async function findFitness({ store }: Pick<App, 'store'>, input: { accountId?: number | undefined }) {
  return await store.read(async (tx) => {
    const accounts = await findAccounts(tx)
    const accountId = input.accountId ?? accounts[0]?.accountId ?? null
    if (input.accountId !== undefined && !accounts.some((known) => known.accountId === accountId))
      return undefined
    const key = accountId ?? 0
    return {
      accounts: accounts.map((account) => ({ account_id: account.accountId, account: account.name })),
      account_id: accountId,
      now: (await findFitnessNow(tx, key)) ?? null,
      signature: await findSignatureColumns(tx, key),
      load: await findLoadColumns(tx, key),
      weeks: await findWeekColumns(tx, key),
      best: await findBests(tx, key),
    }
  })
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

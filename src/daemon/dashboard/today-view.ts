import type { App } from '../../app/app.ts'
import { findStatus, freshMs, type Status } from '../../app/status-report.ts'
import { commandFor } from '../../kit/errors.ts'
import { SECOND } from '../../kit/time.ts'
import { parseErgProfile } from '../../normalize/erg-profile.ts'
import { findAccounts } from '../../store/account-rows.ts'
import { findFitnessNow } from '../../store/dashboard/fitness-page.ts'
import { findActivityLines, findUploadLines } from '../../store/dashboard/overview-page.ts'
import {
  findFormNow,
  findFormTrend,
  findRunsOfDay,
  findSignatureTrend,
  findTodayOf,
  findWeekDays,
  findWorkoutOfDay,
} from '../../store/dashboard/today-page.ts'
import type { Tx } from '../../store/store.ts'
import type {
  AccountToday,
  AccountView,
  DashboardDeps,
  TodayShared,
} from '../../web/dashboard/dashboard-types.ts'
import { makeCachedProbe } from '../cached-probe.ts'
import { makeProblems } from './problems.ts'

type AccountStatus = Status['accounts'][number]

/** The files of one list, enough for a screen. */
const LINES_SHOWN = 15
/** Enough to see the last two weeks; the page of all activities has the others. */
const ACTIVITIES_SHOWN = 8
/** The state of the mirror is cached, so that several open pages cost the database as much as one. */
const KEEP_MS = 1 * SECOND

/** Makes the finder of the first page's content: the state of the whole mirror, and the day of one account. */
export function makeFindToday(app: Pick<App, 'config' | 'store'>): DashboardDeps['findToday'] {
  const findShared = makeCachedProbe(() => findSharedPart(app), { keepMs: KEEP_MS })
  return async ({ accountId }) => {
    const shared = await findShared()
    const chosen =
      accountId === undefined
        ? shared.accounts[0]
        : shared.accounts.find((account) => account.account_id === accountId)
    if (accountId !== undefined && !chosen) return undefined
    const today = chosen ? await app.store.read((tx) => findAccountToday(tx, chosen)) : null
    return { ...shared, today }
  }
}

async function findSharedPart(app: Pick<App, 'config' | 'store'>): Promise<TodayShared> {
  const status = await findStatus(app)
  const lines = await app.store.read(async (tx) => ({
    accounts: await findAccounts(tx),
    uploads: await findUploadLines(tx, { limit: LINES_SHOWN }),
    activities: await findActivityLines(tx, { limit: ACTIVITIES_SHOWN }),
    runs: await findRunsOfDay(tx),
  }))
  const ids = new Map(lines.accounts.map(({ accountId, name }) => [name, accountId]))
  const now = new Date()
  return {
    accounts: status.accounts.map((account) => viewOf(account, ids.get(account.account) ?? 0)),
    problems: makeProblems({ status, uploads: lines.uploads, freshMs: freshMs(app.config), now }),
    failed: status.failed_activities.map((failed) => ({
      ...failed,
      resync_command: `${commandFor('resync', failed.account)} ${failed.path}`,
    })),
    uploads: lines.uploads,
    waiting: status.waiting_files.slice(0, LINES_SHOWN).map(({ path, account, reason, waiting_since }) => ({
      path,
      account,
      reason,
      waiting_since,
    })),
    activities: lines.activities,
    runs: lines.runs,
    // Without the path of the folder, which is not for the page.
    backup: status.backup && {
      done_at: status.backup.done_at,
      bytes: status.backup.bytes,
      problem: status.backup.problem,
    },
  }
}

async function findAccountToday(
  tx: Tx,
  { account_id: accountId, sync_command }: AccountView,
): Promise<AccountToday | null> {
  const today = await findTodayOf(tx, accountId)
  if (!today) return null
  const workout = await findWorkoutOfDay(tx, accountId)
  return {
    account_id: accountId,
    sync_command,
    ...today,
    fitness: (await findFitnessNow(tx, accountId)) ?? null,
    form: (await findFormNow(tx, accountId)) ?? null,
    form_trend: await findFormTrend(tx, accountId),
    signature: await findSignatureTrend(tx, accountId),
    week: await findWeekDays(tx, accountId),
    workout: workout
      ? {
          name: workout.name,
          type: workout.type,
          description: workout.description,
          difficulty: workout.difficulty,
          formats: Object.keys(workout.files).sort(),
          profile: parseErgProfile(workout.files.erg ?? ''),
        }
      : null,
  }
}

/** Selects the fields of an account for the page. The rate is left out when nothing is wanted, because it changes all the time. */
function viewOf(
  {
    base_url: baseUrl,
    cursor,
    list_cap,
    reconciled_at,
    last_run,
    reconcile_error,
    ...account
  }: AccountStatus,
  accountId: number,
) {
  const busy = account.wanted > 0
  return {
    ...account,
    account_id: accountId,
    sync_command: commandFor('sync', account.account),
    // Only the host, because a URL may contain a path that is not for the page.
    service: URL.canParse(baseUrl) ? new URL(baseUrl).host : '',
    fetched_per_minute: busy ? account.fetched_per_minute : null,
    seconds_to_go: busy ? account.seconds_to_go : null,
  }
}

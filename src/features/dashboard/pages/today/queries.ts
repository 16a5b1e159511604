import { sql } from 'drizzle-orm'
import { type Account, findAccountById, ofAccount } from '../../../../core/store/account-rows.ts'
import type { Tx } from '../../../../core/store/store.ts'
import { NOT_TAKEN } from '../../../../core/store/uploads/waiting-files.ts'
import { findSavedWorkouts } from '../../../../core/store/workout-rows.ts'
import { commandFor } from '../../../../kit/errors.ts'
import { MINUTE } from '../../../../kit/time.ts'
import { makeCachedProbe } from '../../../../program/frame/cached-probe.ts'
import { collectFindings, findLastCopy } from '../../../../program/frame/findings/collect-findings.ts'
import { type Facts, makeFacts } from '../../../../program/frame/findings/facts.ts'
import { findStatus, type Status } from '../../../../program/frame/findings/status-report.ts'
import { makeWorkoutLines } from '../../../../program/frame/workout-steps.ts'
import { MAX_ACCOUNTS, type Sent } from '../../shared/sent.ts'
import { chooseAccount } from '../account-choices.ts'
import { ACTIVITY_LINE, type ActivityLine } from '../activity-line.ts'
import { findFitnessNow, findFormToday } from '../fitness-now.ts'
import type { PagesApp } from '../page-frame.ts'
import { rowsOf } from '../rows-of.ts'
import { KEEP_MS } from '../send-view.ts'
import {
  findFormNow,
  findRunsOfDay,
  findTodayOf,
  findTrend,
  findWeekDays,
  findWorkoutOfDay,
  type WorkoutOfDay,
} from './account-day.ts'
import { parseErgProfile } from './erg-profile.ts'
import { collectProblems, describeOthers } from './problems.ts'

/** The content of the page as the browser receives it. */
export type View = Sent<ReturnType<typeof makeFindToday>>

/** Maximum number of files in a list, enough to fill a screen. */
const MAX_FILES = 15
/** Maximum number of recent activities, about two weeks of riding; the activities page has the others. */
const MAX_ACTIVITIES = 8

/**
 * Makes the function that finds the content of the Today page: the state of the mirror and the day of one account, by default the first. If
 * there are many accounts, the state covers only the shown account. The function returns undefined if the account does not exist. It runs
 * its queries, about 20, concurrently.
 */
export function makeFindToday(app: Pick<PagesApp, 'store' | 'owner'>, workoutFormats: readonly string[]) {
  const findAll = makeCachedProbe(() => findMirror(app), { keepMs: KEEP_MS })
  let unwell: ReadonlySet<unknown> = new Set()
  const findUnwell = makeCachedProbe(
    async () => {
      const findings = await collectFindings(makeFacts(app.owner, new Date()), { place: 'status' })
      unwell = new Set(findings.filter(({ state }) => state !== 'ok').map(({ account }) => account))
    },
    { keepMs: () => 5 * MINUTE }, // takes seconds with 10,000 accounts
  )
  return async ({ accountId }: { accountId?: number | undefined }) => {
    const choice = await app.store.read((tx) => chooseAccount(tx, accountId))
    if (!choice) return undefined
    const { accounts, shown } = choice
    const isMany = accounts.length >= MAX_ACCOUNTS
    const [{ statuses, problems, ...mirror }, today] = await Promise.all([
      isMany ? findMirror(app, shown?.account_id) : findAll(),
      app.store.read(async (tx) => {
        const account = shown && (await findAccountById(tx, shown.account_id))
        return account ? findAccountToday(tx, account) : null
      }),
    ])
    if (isMany) findUnwell().catch(() => undefined) // does not wait, because the page polls again within seconds
    return {
      ...mirror,
      accounts,
      problems: isMany ? [...problems, ...describeOthers(unwell, shown?.account)] : problems,
      cards: statuses.map(viewOf),
      today: today && { ...today, workout_formats: workoutFormats },
    }
  }
}

/** Finds the state of the mirror, for all accounts or one. */
async function findMirror({ store, owner }: Pick<PagesApp, 'store' | 'owner'>, accountId?: number) {
  const facts = makeFacts(owner, new Date(), accountId)
  const [status, lines] = await Promise.all([
    findStatus(owner, facts),
    store.read(async (tx) => ({
      uploads: await findUploadLines(tx, MAX_FILES, accountId),
      activities: await findActivityLines(tx, MAX_ACTIVITIES, accountId),
      runs: await findRunsOfDay(tx, accountId),
    })),
  ])
  const problems = await collectProblems(facts, 'page')
  return {
    statuses: status.accounts,
    problems,
    /** whether neither the page nor a login has a problem */
    is_well:
      problems.length === 0 &&
      status.waiting_files.every(({ code }) => code === NOT_TAKEN) &&
      status.accounts.every(({ login_code: code, polled_at: at }) => code === null && at !== null),
    failed: status.failed_activities.map((failed) => ({
      ...failed,
      resync_command: commandFor('resync', failed.account, failed.path),
    })),
    ...lines,
    // Removes the paths of folders, also of the backup's, because the page must not show any.
    waiting: status.waiting_files
      .slice(0, MAX_FILES)
      .map(({ path, reason, waiting_since }) => ({ path, reason, waiting_since })),
    backup: await findBackup(facts),
  }
}

async function findBackup(facts: Facts) {
  const copy = await findLastCopy(facts)
  if (!copy) return null
  const { check, done_at, bytes } = copy
  const problem = (await collectFindings(facts, { check })).find(({ state }) => state === 'problem')
  return { done_at, bytes, problem: problem?.found ?? null }
}

async function findAccountToday(tx: Tx, account: Account) {
  const { accountId } = account
  const today = await findTodayOf(tx, accountId)
  if (!today) return null
  const workout = await findWorkoutOfDay(tx, accountId)
  const saved = await findSavedWorkouts(tx, account)
  return {
    account_id: accountId,
    sync_command: commandFor('sync', account.name),
    ...today,
    fitness: (await findFitnessNow(tx, accountId)) ?? null,
    form: (await findFormNow(tx, accountId)) ?? null,
    form_today: (await findFormToday(tx, accountId)) ?? null,
    form_trend: await findTrend(tx, accountId, 'form'),
    ftp_trend: await findTrend(tx, accountId, 'ftp'),
    week: await findWeekDays(tx, accountId),
    workout: workout ? viewOfWorkout(workout) : null,
    workouts: makeWorkoutLines(saved.filter(({ isOwn }) => isOwn)).map(
      ({ name, path, seconds, problem }) => ({ name, path, seconds, problem }),
    ),
  }
}

function viewOfWorkout({ files, ...about }: WorkoutOfDay) {
  return { ...about, formats: Object.keys(files).sort(), profile: parseErgProfile(files.erg ?? '') }
}

/**
 * Selects the fields of an account for the page. Leaves out the rate if nothing is left to fetch, because the rate changes constantly, so
 * every poll would send a new response.
 */
function viewOf(status: Status['accounts'][number]) {
  const {
    base_url: baseUrl,
    cursor,
    list_cap,
    reconciled_at,
    last_run,
    reconcile_error,
    unreadable_entries,
    ...account
  } = status
  const busy = account.wanted > 0
  return {
    ...account,
    sync_command: commandFor('sync', account.account),
    // Shows only the host, because the page must not show the path of a URL.
    service: URL.canParse(baseUrl) ? new URL(baseUrl).host : '',
    fetched_per_minute: busy ? account.fetched_per_minute : null,
    seconds_to_go: busy ? account.seconds_to_go : null,
  }
}

/** A file of the drop folder and its result; `took_s` is the time from first seen to mirrored, s. */
type UploadLine = { seen_at: Date } & Record<'account' | 'file_name' | 'state', string> &
  Record<'reason' | 'activity_name', string | null> &
  Record<'took_s' | 'activity_id' | 'xss', number | null>

/** Finds the newest files of the drop folder and of `musette upload`, for all accounts or one, newest first. */
export async function findUploadLines(tx: Tx, limit: number, accountId?: number): Promise<UploadLine[]> {
  // Reads the newest rows of each table by its index, because Postgres would read and sort the whole view, a union.
  const newestOf = (table: string) =>
    sql`(select account_id, content_id, file_name, seen_at from training.${sql.raw(table)} where ${sql.raw(ofAccount(accountId))} order by seen_at desc, content_id limit ${limit})`
  return rowsOf<UploadLine>(tx)`
     select a.name as account, j.file_name, j.state, j.reason, j.seen_at, extract(epoch from j.took)::float8 as took_s,
       j.activity_id, j.activity_name, j.xss
     from (${newestOf('uploads')} union all ${newestOf('upload_copies')} order by seen_at desc, content_id limit ${limit}) n
     cross join lateral (
       select * from training.upload_journey v
       where (v.account_id, v.content_id, v.file_name, v.seen_at) = (n.account_id, n.content_id, n.file_name, n.seen_at)
       offset 0
     ) j
     join training.accounts a on a.account_id = j.account_id
     order by j.seen_at desc, j.content_id`
}

/** Finds listed activities, for all accounts or one, newest first; activities without a start come last. */
export async function findActivityLines(tx: Tx, limit: number, accountId?: number) {
  // The order of the index activities_newest.
  return rowsOf<ActivityLine>(tx)`
     select ${ACTIVITY_LINE}
     from training.activities v join training.accounts a using (account_id)
     where v.absent_since is null and ${sql.raw(ofAccount(accountId))}
     order by coalesce(v.started_at, '-infinity') desc, v.activity_id desc limit ${limit}`
}

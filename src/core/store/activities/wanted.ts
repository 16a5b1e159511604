import { and, asc, desc, eq, exists, gte, inArray, isNull, lte, not, or, type SQL, sql } from 'drizzle-orm'
import { SUMMARY_FIELDS } from '../../fields/activity-fields.ts'
import { columnsOf } from '../../fields/field.ts'
import type { Account } from '../account-rows.ts'
import { accounts, activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'

type DetailState = (typeof activities.$inferSelect)['detailState']

const COLUMNS = {
  activityId: activities.activityId,
  accountId: activities.accountId,
  path: activities.path,
  detailState: activities.detailState,
  startedAt: activities.startedAt,
  firstSeenAt: activities.firstSeenAt,
  fetchedAt: activities.fetchedAt,
  summaryHash: activities.summaryHash,
  nextFetchAt: activities.nextFetchAt,
  sampleCount: sql<number>`coalesce(${activities.sampleCount}, 0)`,
  fetchAttempts: activities.fetchAttempts,
  valueCount: sql<number>`num_nonnulls(${sql.join(
    columnsOf(SUMMARY_FIELDS).map((column) => activities[column]),
    sql`, `,
  )})`,
  duration: activities.duration,
}

const select = (tx: Tx) => tx.db.select(COLUMNS).from(activities)

/** The columns that a fetch needs. `sampleCount` and `valueCount` are 0 before the first answer with samples or values; `duration` is in s. */
export type WantedActivity = Readonly<Awaited<ReturnType<typeof select>>[number]>

/**
 * Finds an account's activities that are due at `now`, newest start first: wanted activities, and activities whose next fetch is due,
 * including mirrored ones. Leaves out absent activities, and failed activities without a next fetch.
 */
export async function findWanted(
  tx: Tx,
  input: { accountId: number; limit: number; now: Date },
): Promise<WantedActivity[]> {
  return await select(tx)
    .where(and(eq(activities.accountId, input.accountId), isDue(input.now)))
    .orderBy(sql`${desc(activities.startedAt)} nulls last`, desc(activities.activityId))
    .limit(input.limit)
}

/** Finds the signed-in accounts that have an activity due at `now`, oldest account first, in one query. */
export async function findAccountsWithWanted(tx: Tx, now: Date): Promise<Account[]> {
  const due = tx.db
    .select({ accountId: activities.accountId })
    .from(activities)
    .where(and(eq(activities.accountId, accounts.accountId), isDue(now)))
  return await tx.db
    .select()
    .from(accounts)
    .where(and(not(accounts.needsLogin), exists(due)))
    .orderBy(asc(accounts.accountId))
}

function isDue(now: Date): SQL | undefined {
  return and(
    isNull(activities.absentSince),
    or(
      and(sql`${activities.detailState} = 'wanted'`, isNull(activities.nextFetchAt)),
      lte(activities.nextFetchAt, now),
    ),
  )
}

/** Finds the mirrored activities with the oldest comparison; activities that were never compared come first. Returns none while an activity of the account is due. */
export async function findLeastVerified(
  tx: Tx,
  { accountId, limit, now }: { accountId: number; limit: number; now: Date },
): Promise<WantedActivity[]> {
  const [due] = await findWanted(tx, { accountId, limit: 1, now })
  if (due) return []
  return await select(tx)
    .where(isMirrored(accountId))
    .orderBy(sql`${asc(activities.verifiedAt)} nulls first`, desc(activities.activityId))
    .limit(limit)
}

/** Finds an account's mirrored activities to compare: activities with the given paths, `sample` random activities, or all. */
export async function findToVerify(
  tx: Tx,
  { accountId, choice }: { accountId: number; choice: VerifyChoice },
): Promise<WantedActivity[]> {
  const chosen = 'paths' in choice ? inArray(activities.path, [...choice.paths]) : undefined
  const query = select(tx).where(and(isMirrored(accountId), chosen))
  if ('sample' in choice) return await query.orderBy(sql`random()`).limit(choice.sample)
  return await query.orderBy(desc(activities.activityId))
}

/** Which activities to compare: all, `sample` random activities, or activities with these paths. */
export type VerifyChoice = { all: true } | { sample: number } | { paths: readonly string[] }

function isMirrored(accountId: number): SQL | undefined {
  return and(
    eq(activities.accountId, accountId),
    eq(activities.detailState, 'mirrored'),
    isNull(activities.absentSince),
  )
}

/**
 * Marks activities as wanted and deletes their summary hash, so that the next fetch includes the samples. Selects activities by `paths`, or
 * activities that started on or after the day `since` (midnight UTC). Skips absent activities. Returns the marked paths.
 */
export async function recordRefetch(
  tx: Tx,
  input: { accountId: number; wantedAt: Date } & ({ paths: readonly string[] } | { since: Date }),
): Promise<string[]> {
  const { accountId, wantedAt } = input
  const chosen =
    'paths' in input
      ? inArray(activities.path, [...input.paths])
      : gte(activities.startedAtLocal, input.since.toISOString().slice(0, 'YYYY-MM-DD'.length))
  const rows = await tx.db
    .update(activities)
    .set({ detailState: 'wanted', summaryHash: null, wantedAt, nextFetchAt: null, fetchAttempts: 0 })
    .where(and(eq(activities.accountId, accountId), isNull(activities.absentSince), chosen))
    .returning({ path: activities.path })
  return rows.map(({ path }) => path)
}

/** Finds one activity for a fetch; undefined if the id is unknown. */
export async function findActivity(tx: Tx, activityId: number): Promise<WantedActivity | undefined> {
  const [row] = await select(tx).where(eq(activities.activityId, activityId))
  return row
}

/** Finds the path of the newest mirrored activity; undefined if there is none. */
export async function findMirroredPath(tx: Tx, accountId: number): Promise<string | undefined> {
  const [row] = await tx.db
    .select({ path: activities.path })
    .from(activities)
    .where(isMirrored(accountId))
    .orderBy(desc(activities.startedAt), desc(activities.activityId))
    .limit(1)
  return row?.path
}

/** Number of listed activities by state, and number of absent activities. */
type StateCounts = Record<DetailState | 'absent', number>

/** Counts an account's activities by state; an absent activity counts only as absent. */
export async function countByState(tx: Tx, accountId: number): Promise<StateCounts> {
  const counts: StateCounts = { wanted: 0, awaiting_samples: 0, mirrored: 0, failed: 0, absent: 0 }
  const state = sql<
    keyof StateCounts
  >`case when ${activities.absentSince} is null then ${activities.detailState} else 'absent' end`
  const rows = await tx.db
    .select({ state, count: sql<number>`count(*)::int` })
    .from(activities)
    .where(eq(activities.accountId, accountId))
    .groupBy(sql`1`)
  for (const row of rows) counts[row.state] = row.count
  return counts
}

/** Counts an account's activities that were ever fetched, and finds the local date of the newest listed activity (`2026-11-20`). */
export async function findFetched(tx: Tx, accountId: number) {
  const [row] = await tx.db
    .select({
      everFetched: sql<number>`(count(*) filter (where ${activities.fetchedAt} is not null))::int`,
      newestDay: sql<
        string | null
      >`(max(${activities.startedAtLocal}) filter (where ${activities.absentSince} is null))::date::text`,
    })
    .from(activities)
    .where(eq(activities.accountId, accountId))
  return row ?? { everFetched: 0, newestDay: null }
}

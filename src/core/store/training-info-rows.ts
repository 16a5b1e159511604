import { createHash } from 'node:crypto'
import { and, asc, desc, eq, gt, lte, or } from 'drizzle-orm'
import { MINUTE } from '../../kit/time.ts'
import type { Row } from '../fields/field.ts'
import type { TRAINING_INFO_FIELDS } from '../fields/training-fields.ts'
import { cleanJson, cleanRow, cleanText } from './clean.ts'
import { trainingInfo, workoutFiles } from './schema/index.ts'
import type { Json } from './schema/schemas.ts'
import { acquireNamedLock, type Tx } from './store.ts'

export type TrainingInfo = Readonly<typeof trainingInfo.$inferSelect>

/** The columns that the service's answer fills; null for a missing value. */
export type TrainingInfoRow = Row<typeof TRAINING_INFO_FIELDS>

/** Finds an account's newest training information. Returns undefined if there is none yet. */
export async function findTrainingInfo(tx: Tx, accountId: number): Promise<TrainingInfo | undefined> {
  const [row] = await tx.db
    .select()
    .from(trainingInfo)
    .where(eq(trainingInfo.accountId, accountId))
    .orderBy(desc(trainingInfo.observedAt))
    .limit(1)
  return row
}

/**
 * Records training information that was requested at `requestedAt`: inserts a row if `isSame` finds a difference from the newest row,
 * otherwise only updates `last_seen_at`. An answer older than the newest row changes nothing. If the clock was set back, the row's time
 * plus 1 ms replaces the time of the request. An answer without the URL of the workout's file keeps the known URL.
 */
export async function recordTrainingInfo(
  tx: Tx,
  input: {
    accountId: number
    requestedAt: Date
    row: TrainingInfoRow
    raw: unknown
    isSame: (before: unknown, now: unknown) => boolean
  },
): Promise<'new' | 'same' | 'older'> {
  const { accountId } = input
  await acquireNamedLock(tx, 'training info', accountId)
  const before = await findTrainingInfo(tx, accountId)
  const ahead = before !== undefined && before.lastSeenAt > input.requestedAt
  if (ahead && before.lastSeenAt <= olderUntil(input.requestedAt)) return 'older'
  const requestedAt = ahead ? new Date(before.lastSeenAt.getTime() + 1) : input.requestedAt
  const raw = cleanJson(input.raw)
  if (before && input.isSame(before.raw, raw)) {
    await tx.db.update(trainingInfo).set({ lastSeenAt: requestedAt }).where(isRow(before))
    return 'same'
  }
  const row = cleanRow(input.row)
  const sameWorkout = before?.wotdWorkoutId != null && before.wotdWorkoutId === row.wotdWorkoutId
  const seen = {
    ...row,
    wotdUrl: row.wotdUrl ?? (sameWorkout ? before.wotdUrl : null),
    raw,
    lastSeenAt: requestedAt,
  }
  await tx.db
    .insert(trainingInfo)
    .values({ accountId, observedAt: requestedAt, ...seen })
    .onConflictDoUpdate({ target: [trainingInfo.accountId, trainingInfo.observedAt], set: seen })
  return 'new'
}

/** Records the file URL of the workout of the day in the newest row, if that row names the same workout. */
export async function recordWorkoutUrl(tx: Tx, input: { accountId: number; workoutId: string; url: string }) {
  const row = await findTrainingInfo(tx, input.accountId)
  const wotdUrl = cleanText(input.url)
  if (!row || row.wotdWorkoutId !== cleanText(input.workoutId) || row.wotdUrl === wotdUrl) return
  await tx.db.update(trainingInfo).set({ wotdUrl }).where(isRow(row))
}

function isRow(row: Pick<TrainingInfo, 'accountId' | 'observedAt'>) {
  return and(eq(trainingInfo.accountId, row.accountId), eq(trainingInfo.observedAt, row.observedAt))
}

/** Maximum duration of a request, ms. If an answer seems older than this, the clock was set back. */
const UNDER_WAY_MS = 10 * MINUTE

/** Returns the latest time at which a row counts as newer than an answer. A row with a later time was written with a wrong clock. */
export function olderUntil(requestedAt: Date): Date {
  return new Date(requestedAt.getTime() + UNDER_WAY_MS)
}

export type WorkoutFormat = 'erg' | 'zwo'
type WorkoutFile = Readonly<typeof workoutFiles.$inferSelect>

export async function findWorkoutFiles(
  tx: Tx,
  input: { accountId: number; workoutId: string },
): Promise<WorkoutFile[]> {
  return await tx.db.select().from(workoutFiles).where(isWorkout(input)).orderBy(asc(workoutFiles.format))
}

/**
 * Records a file of the workout of the day that was requested at `fetchedAt`, and the values for which the service made the file. Reports
 * whether the content changed. Unchanged content is not rewritten. An answer older than the row's own changes nothing.
 */
export async function recordWorkoutFile(
  tx: Tx,
  input: {
    accountId: number
    workoutId: string
    format: WorkoutFormat
    content: string
    madeFor: unknown
    fetchedAt: Date
  },
): Promise<boolean> {
  const { accountId, format, fetchedAt } = input
  const workoutId = cleanText(input.workoutId)
  const content = cleanText(input.content)
  const sha256 = createHash('sha256').update(content).digest('hex')
  const seen = { fetchedAt, madeFor: cleanJson(input.madeFor) }
  const isNewer = or(
    lte(workoutFiles.fetchedAt, fetchedAt),
    gt(workoutFiles.fetchedAt, olderUntil(fetchedAt)),
  )
  const isFile = and(isWorkout({ accountId, workoutId }), eq(workoutFiles.format, format))
  const same = await tx.db
    .update(workoutFiles)
    .set(seen)
    .where(and(isFile, eq(workoutFiles.sha256, sha256), isNewer))
  if ((same.rowCount ?? 0) > 0) return false
  const written = await tx.db
    .insert(workoutFiles)
    .values({ accountId, workoutId, format, content, sha256, ...seen })
    .onConflictDoUpdate({
      target: [workoutFiles.accountId, workoutFiles.workoutId, workoutFiles.format],
      set: { content, sha256, ...seen },
      ...(isNewer && { setWhere: isNewer }),
    })
  return (written.rowCount ?? 0) > 0
}

function isWorkout(input: { accountId: number; workoutId: string }) {
  const workoutId = cleanText(input.workoutId)
  return and(eq(workoutFiles.accountId, input.accountId), eq(workoutFiles.workoutId, workoutId))
}

/** Maximum answers of each kind: enough to see every field. */
const MAX_ANSWERS = 100

/** Finds answers and parts of answers that are stored as the service sent them, with their endpoint in the service document. */
export async function findStoredAnswers(tx: Tx, accountId: number) {
  const { rows } = await tx.client.query<{ endpoint: string; answer: Json }>(
    `(select 'training_info' as endpoint, raw as answer from training.training_info
      where account_id = $1 and raw is not null order by observed_at desc limit ${MAX_ANSWERS})
     union all
     (select case when account_id is null then 'workout' else 'workouts' end, raw from training.workouts
      where (account_id = $1 or account_id is null) and raw is not null limit ${MAX_ANSWERS})
     union all
     (select 'workout/<path>', raw from training.workout_definitions where account_id = $1 and raw is not null limit ${MAX_ANSWERS})`,
    [accountId],
  )
  return rows
}

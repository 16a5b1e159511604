import { and, eq, gt, lte } from 'drizzle-orm'
import { cleanJson, cleanNullable, cleanText } from '../clean.ts'
import { workoutSets } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import { lockCoaching } from './lock.ts'
import { olderUntil } from './older.ts'

/** A set as the table holds it: watts and seconds. */
export type WorkoutSetRow = Readonly<
  Pick<
    typeof workoutSets.$inferSelect,
    'name' | 'index' | 'power' | 'duration' | 'powerRest' | 'durationRest' | 'intervalCount'
  >
>

/** A listed workout, and when and for which signature its sets were resolved; null when they never were. */
export type DefinitionState = Readonly<{
  path: string
  changedAt: Date | null
  resolvedAt: Date | null
  signature: unknown
}>

/** Finds every workout that is in the account's list or in its service's default list, with the state of its sets. */
export async function findDefinitionStates(
  tx: Tx,
  input: { accountId: number; baseUrl: string },
): Promise<DefinitionState[]> {
  const { rows } = await tx.client.query<DefinitionState>(
    `select w.path, w.changed_at as "changedAt", s.resolved_at as "resolvedAt", s.signature
     from (select path, max(changed_at) as changed_at from training.workouts
           where absent_since is null and (account_id = $1 or (account_id is null and base_url = $2))
           group by path) w
     left join lateral (select resolved_at, signature from training.workout_sets
                        where account_id = $1 and path = w.path order by position limit 1) s on true
     order by w.path`,
    [input.accountId, input.baseUrl],
  )
  return rows
}

/**
 * Replaces the sets of a workout by those asked for at `resolvedAt` for that signature. An answer older than the sets
 * that are here changes nothing.
 */
export async function replaceWorkoutSets(
  tx: Tx,
  input: {
    accountId: number
    path: string
    sets: readonly WorkoutSetRow[]
    resolvedAt: Date
    signature: unknown
  },
): Promise<void> {
  const { accountId, resolvedAt } = input
  const path = cleanText(input.path)
  const isWorkout = and(eq(workoutSets.accountId, accountId), eq(workoutSets.path, path))
  await lockCoaching(tx, 'workout sets', accountId)
  const newer = await tx.db
    .select({ position: workoutSets.position })
    .from(workoutSets)
    .where(
      and(
        isWorkout,
        gt(workoutSets.resolvedAt, resolvedAt),
        lte(workoutSets.resolvedAt, olderUntil(resolvedAt)),
      ),
    )
    .limit(1)
  if (newer.length > 0) return
  await tx.db.delete(workoutSets).where(isWorkout)
  if (input.sets.length === 0) return
  const signature = cleanJson(input.signature)
  await tx.db.insert(workoutSets).values(
    input.sets.map((set, position) => ({
      ...{ accountId, path, position, resolvedAt, signature },
      ...{ ...set, name: cleanNullable(set.name) },
    })),
  )
}

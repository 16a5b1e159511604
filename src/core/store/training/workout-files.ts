import { createHash } from 'node:crypto'
import { and, asc, eq, gt, lte, or } from 'drizzle-orm'
import { cleanJson, cleanText } from '../clean.ts'
import { workoutFiles } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import { olderUntil } from './training-info-rows.ts'

export type WorkoutFormat = 'erg' | 'zwo'
type WorkoutFile = Readonly<typeof workoutFiles.$inferSelect>

/** Finds the files of one workout, by format. */
export async function findWorkoutFiles(
  tx: Tx,
  input: { accountId: number; workoutId: string },
): Promise<WorkoutFile[]> {
  return await tx.db.select().from(workoutFiles).where(isWorkout(input)).orderBy(asc(workoutFiles.format))
}

/**
 * Records a file of the workout of the day that was requested at `fetchedAt`, and the values it was made for. Returns whether
 * the content has changed; the same content is not written again. An answer older than the row's own changes nothing.
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

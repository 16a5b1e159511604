import { eq } from 'drizzle-orm'
import { cleanJson, cleanText } from '../clean.ts'
import { powerCurves, sampleExtras } from '../schema/index.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'

/** A per-second field that has no column: its values in the order of the samples' time. */
export type SampleExtra = Readonly<{ field: string; values: readonly unknown[] }>

/** One point of a power curve: the best mean power over `durationS` seconds, in watts. */
export type PowerBest = Readonly<{ durationS: number; watts: number }>

/** Replaces the per-second fields without a column of an activity, of which it may have had some before. */
export async function replaceSampleExtras(
  tx: Tx,
  activityId: number,
  extras: readonly SampleExtra[],
): Promise<void> {
  await tx.db.delete(sampleExtras).where(eq(sampleExtras.activityId, activityId))
  await insertSampleExtras(tx, activityId, extras)
}

/** Writes the per-second fields without a column of an activity that has none. */
export async function insertSampleExtras(
  tx: Tx,
  activityId: number,
  extras: readonly SampleExtra[],
): Promise<void> {
  const byField = new Map(extras.map((extra) => [cleanText(extra.field), extra.values]))
  for (const [field, values] of byField) {
    const cleaned: Json[] = values.map((value) => cleanJson(value))
    await tx.db.insert(sampleExtras).values({ activityId, field, values: cleaned })
  }
}

/** Replaces the power curve of an activity. */
export async function replacePowerCurve(
  tx: Tx,
  activityId: number,
  curve: readonly PowerBest[],
): Promise<void> {
  await tx.db.delete(powerCurves).where(eq(powerCurves.activityId, activityId))
  await insertPowerCurve(tx, activityId, curve)
}

/** Writes the power curve of an activity that has none. */
export async function insertPowerCurve(
  tx: Tx,
  activityId: number,
  curve: readonly PowerBest[],
): Promise<void> {
  if (curve.length === 0) return
  // Two arrays and not 180 parameters: every activity has such a curve, and building that statement took a millisecond.
  await tx.client.query(
    `insert into training.power_curves (activity_id, duration_s, watts, account_id, season)
     select activity_id, duration_s, watts, account_id, date_part('year', started_at_local)
     from training.activities, unnest($2::int[], $3::real[]) as curve (duration_s, watts) where activity_id = $1`,
    [activityId, curve.map(({ durationS }) => durationS), curve.map(({ watts }) => watts)],
  )
}

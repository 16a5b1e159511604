import { eq } from 'drizzle-orm'
import { cleanJson, cleanText } from '../clean.ts'
import { powerCurves, sampleExtras } from '../schema/index.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'

/** A per-second field that has no column: its values in the order of the samples' time. */
export type SampleExtra = Readonly<{ field: string; values: readonly unknown[] }>

/** One point of a power curve: the best mean power over `durationS` seconds, in watts. */
export type PowerBest = Readonly<{ durationS: number; watts: number }>

/** Replaces the per-second fields without a column of an activity. */
export async function replaceSampleExtras(
  tx: Tx,
  activityId: number,
  extras: readonly SampleExtra[],
): Promise<void> {
  await tx.db.delete(sampleExtras).where(eq(sampleExtras.activityId, activityId))
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
  if (curve.length === 0) return
  await tx.db.insert(powerCurves).values(curve.map((point) => ({ activityId, ...point })))
}

import { cleanJson, cleanText } from '../clean.ts'
import { sampleExtras } from '../schema/index.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'

/** A per-second field that has no column: its values in the order of the samples' time, and of their ordinal where it repeats. */
export type SampleExtra = Readonly<{ field: string; values: readonly unknown[] }>

/** One point of a power curve: the best mean power over `durationS` seconds, in watts. */
export type PowerBest = Readonly<{ durationS: number; watts: number }>

/** The column of samples that powers were computed from: of each second, or means of 5 s. */
export type PowerSource = 'p_raw' | 'power'

/** The best mean powers of an activity, shortest duration first. */
export type PowerCurve = Readonly<{ source: PowerSource; points: readonly PowerBest[] }>

/** Writes the per-second fields without a column of an activity. */
export async function insertSampleExtras(
  tx: Tx,
  activityId: number,
  extras: readonly SampleExtra[],
): Promise<void> {
  const byField = new Map(extras.map((extra) => [cleanText(extra.field), extra.values]))
  for (const [field, values] of byField) {
    const cleaned: Json[] = values.map((value) => cleanJson(value))
    await tx.db
      .insert(sampleExtras)
      .values({ activityId, field, values: cleaned })
      .onConflictDoUpdate({ target: [sampleExtras.activityId, sampleExtras.field], set: { values: cleaned } })
  }
}

/** Writes the power curves of activities that have none. */
export async function insertPowerCurves(
  tx: Tx,
  curves: ReadonlyArray<{ activityId: number; curve: PowerCurve }>,
): Promise<void> {
  const points = curves.flatMap(({ activityId, curve }) =>
    curve.points.map((best) => ({ activityId, ...best })),
  )
  if (points.length === 0) return
  // Arrays and not hundreds of parameters: every activity has such a curve, and building that statement took a millisecond.
  await tx.client.query(
    `insert into training.power_curves (activity_id, duration_s, watts, account_id, season, started_at_local, source)
     select activity_id, duration_s, watts, account_id, date_part('year', started_at_local), started_at_local, source
     from unnest($1::int[], $2::int[], $3::real[]) as point (activity_id, duration_s, watts)
     join unnest($4::int[], $5::text[]) as curve (activity_id, source) using (activity_id)
     join training.activities using (activity_id)`,
    [
      points.map(({ activityId }) => activityId),
      points.map(({ durationS }) => durationS),
      points.map(({ watts }) => watts),
      curves.map(({ activityId }) => activityId),
      curves.map(({ curve }) => curve.source),
    ],
  )
}

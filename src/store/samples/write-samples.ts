import { copyRows } from '../copy.ts'
import type { Tx } from '../store.ts'
import { type ActivitySamples, encodeSamples } from './encode-samples.ts'

/** Deletes the samples of activities with their fields without a column. */
export async function deleteSamples(tx: Tx, activityIds: readonly number[]): Promise<void> {
  if (activityIds.length === 0) return
  // One activity at a time: for several the planner may read the whole table instead of the index. In one message, because each
  // answer waits until the next activity is parsed.
  const statements = activityIds.flatMap((activityId) =>
    ['samples', 'sample_extras'].map(
      (table) => `DELETE FROM training.${table} WHERE activity_id = ${Number(activityId)}`,
    ),
  )
  await tx.client.query(statements.join('; '))
}

/**
 * Writes the samples of activities that have none and returns their number. One binary COPY for all, because every COPY costs
 * a millisecond, whatever its size.
 */
export async function insertSamples(tx: Tx, activities: readonly ActivitySamples[]): Promise<number> {
  const filled = activities.filter(({ samples }) => samples.count > 0)
  if (filled.length === 0) return 0
  const { columns, chunks } = encodeSamples(filled)
  return await copyRows(tx.client, `training.samples (${columns.join(', ')})`, chunks)
}

/** One point of a power curve: the best mean power over `durationS` seconds, in watts. */
export type PowerBest = Readonly<{ durationS: number; watts: number }>

/** The column of samples that a power curve was computed from: `p_raw` of each second, `power` as means of 5 s. */
export type PowerSource = 'p_raw' | 'power'

/** The best mean powers of an activity, shortest duration first. */
export type PowerCurve = Readonly<{ source: PowerSource; points: readonly PowerBest[] }>

// Arrays instead of hundreds of parameters: building that statement took a millisecond for each activity.
const REPLACE_CURVES = `WITH point AS (
  SELECT activity_id, duration_s, watts, source
  FROM unnest($1::int[], $2::int[], $3::real[]) AS best (activity_id, duration_s, watts)
    JOIN unnest($4::int[], $5::text[]) AS curve (activity_id, source) USING (activity_id)
), gone AS (
  DELETE FROM training.power_curves c WHERE activity_id = ANY ($6::int[])
    AND NOT EXISTS (SELECT FROM point WHERE point.activity_id = c.activity_id AND point.duration_s = c.duration_s)
  RETURNING c.activity_id
), written AS (
INSERT INTO training.power_curves AS c (activity_id, duration_s, watts, account_id, season, started_at_local, source, sport)
SELECT activity_id, duration_s, watts, account_id, date_part('year', started_at_local), started_at_local, source, sport
FROM point JOIN training.activities USING (activity_id)
ON CONFLICT (activity_id, duration_s) DO UPDATE SET
  (watts, account_id, season, started_at_local, source, sport) =
  (excluded.watts, excluded.account_id, excluded.season, excluded.started_at_local, excluded.source, excluded.sport)
WHERE c.* IS DISTINCT FROM excluded.*
RETURNING c.activity_id
)
SELECT activity_id FROM gone UNION SELECT activity_id FROM written`

/**
 * Writes power curves in place of those that the activities `known` have; a point that is right already is not written again.
 * Returns the activities whose curve is another one now.
 */
export async function replacePowerCurves(
  tx: Tx,
  curves: ReadonlyArray<{ activityId: number; curve: PowerCurve }>,
  known: readonly number[],
): Promise<number[]> {
  const points = curves.flatMap(({ activityId, curve }) =>
    curve.points.map((best) => ({ activityId, ...best })),
  )
  if (points.length + known.length === 0) return []
  const { rows } = await tx.client.query<{ activity_id: number }>(REPLACE_CURVES, [
    points.map(({ activityId }) => activityId),
    points.map(({ durationS }) => durationS),
    points.map(({ watts }) => watts),
    curves.map(({ activityId }) => activityId),
    curves.map(({ curve }) => curve.source),
    known,
  ])
  return rows.map((row) => row.activity_id)
}

/** Seconds of an activity by intensity; null when unknown. The columns of `activity_intensity` say more. */
export type Intensity = Readonly<{
  /** W */
  ftp: number | null
  /** zones 1 to 7 */
  powerZonesS: readonly number[] | null
  aboveFtpS: number | null
  nearMpaS: number | null
  /** 1/min */
  hrPeak: number | null
  /** element `n - 1`: seconds at a heart rate of n /min or more, up to the highest one */
  hrAtLeastS: readonly number[] | null
  /** s, from one sample to the next */
  spacingS: number
}>

const REPLACE_INTENSITIES = `WITH gone AS (
  DELETE FROM training.activity_intensity WHERE activity_id = ANY ($2::int[])
)
INSERT INTO training.activity_intensity AS i
  (activity_id, ftp, power_z1_s, power_z2_s, power_z3_s, power_z4_s, power_z5_s, power_z6_s, power_z7_s, above_ftp_s,
   near_mpa_s, hr_peak, hr_at_least_s, account_id, day, month, absent, sample_spacing_s)
SELECT counted."activityId", ftp, zones[1], zones[2], zones[3], zones[4], zones[5], zones[6], zones[7], "aboveFtpS", "nearMpaS",
  "hrPeak", "hrAtLeastS", a.account_id, a.started_at_local::date, coalesce(date_trunc('month', a.started_at_local)::date, '-infinity'),
  a.absent_since IS NOT NULL, "spacingS"
FROM jsonb_to_recordset($1::jsonb) AS counted ("activityId" int, ftp float8, zones int[], "aboveFtpS" int, "nearMpaS" int,
  "hrPeak" int, "hrAtLeastS" int[], "spacingS" int)
JOIN training.activities a ON a.activity_id = counted."activityId"
ON CONFLICT (activity_id) DO UPDATE SET
  (ftp, power_z1_s, power_z2_s, power_z3_s, power_z4_s, power_z5_s, power_z6_s, power_z7_s, above_ftp_s, near_mpa_s,
   hr_peak, hr_at_least_s, account_id, day, month, absent, sample_spacing_s) =
  (excluded.ftp, excluded.power_z1_s, excluded.power_z2_s, excluded.power_z3_s, excluded.power_z4_s, excluded.power_z5_s,
   excluded.power_z6_s, excluded.power_z7_s, excluded.above_ftp_s, excluded.near_mpa_s, excluded.hr_peak,
   excluded.hr_at_least_s, excluded.account_id, excluded.day, excluded.month, excluded.absent, excluded.sample_spacing_s)
WHERE i.* IS DISTINCT FROM excluded.*`

/** Writes intensities in place of those that the activities `known` have; one that is right already is not written again. */
export async function replaceIntensities(
  tx: Tx,
  counted: ReadonlyArray<{ activityId: number; intensity: Intensity }>,
  known: readonly number[],
): Promise<void> {
  const kept = new Set(counted.map(({ activityId }) => activityId))
  const gone = known.filter((activityId) => !kept.has(activityId))
  if (counted.length + gone.length === 0) return
  const rows = counted.map(({ activityId, intensity: { powerZonesS: zones, ...rest } }) => ({
    activityId,
    zones,
    ...rest,
  }))
  await tx.client.query(REPLACE_INTENSITIES, [JSON.stringify(rows), gone])
}

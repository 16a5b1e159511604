import type { Tx } from '../store.ts'

/** How many seconds of an activity were how hard; null where nothing is known, see the columns of the table. */
export type Intensity = Readonly<{
  /** W */
  ftp: number | null
  /** zones 1 to 7 */
  powerZonesS: readonly number[] | null
  aboveFtpS: number | null
  nearMpaS: number | null
  /** 1/min */
  hrPeak: number | null
  /** element `n - 1`: seconds at a heart rate of n /min or more, up to the highest there was */
  hrAtLeastS: readonly number[] | null
}>

const UPSERT = `INSERT INTO training.activity_intensity
  (activity_id, ftp, power_z1_s, power_z2_s, power_z3_s, power_z4_s, power_z5_s, power_z6_s, power_z7_s, above_ftp_s,
   near_mpa_s, hr_peak, hr_at_least_s, account_id, day, month, absent)
SELECT counted."activityId", ftp, zones[1], zones[2], zones[3], zones[4], zones[5], zones[6], zones[7], "aboveFtpS", "nearMpaS",
  "hrPeak", "hrAtLeastS", a.account_id, a.started_at_local::date, coalesce(date_trunc('month', a.started_at_local)::date, '-infinity'),
  a.absent_since IS NOT NULL
FROM jsonb_to_recordset($1::jsonb) AS counted ("activityId" int, ftp float8, zones int[], "aboveFtpS" int, "nearMpaS" int,
  "hrPeak" int, "hrAtLeastS" int[])
JOIN training.activities a ON a.activity_id = counted."activityId"
ON CONFLICT (activity_id) DO UPDATE SET
  (ftp, power_z1_s, power_z2_s, power_z3_s, power_z4_s, power_z5_s, power_z6_s, power_z7_s, above_ftp_s, near_mpa_s,
   hr_peak, hr_at_least_s, account_id, day, month, absent) =
  (excluded.ftp, excluded.power_z1_s, excluded.power_z2_s, excluded.power_z3_s, excluded.power_z4_s, excluded.power_z5_s,
   excluded.power_z6_s, excluded.power_z7_s, excluded.above_ftp_s, excluded.near_mpa_s, excluded.hr_peak,
   excluded.hr_at_least_s, excluded.account_id, excluded.day, excluded.month, excluded.absent)`

/** Writes how hard activities were, in the place of what was counted before. */
export async function upsertIntensities(
  tx: Tx,
  counted: ReadonlyArray<{ activityId: number; intensity: Intensity }>,
): Promise<void> {
  if (counted.length === 0) return
  const rows = counted.map(({ activityId, intensity: { powerZonesS: zones, ...rest } }) => ({
    activityId,
    zones,
    ...rest,
  }))
  await tx.client.query(UPSERT, [JSON.stringify(rows)])
}

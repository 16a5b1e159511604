import type { activities } from '../schema/index.ts'
import type { Tx } from '../store.ts'

type Row = typeof activities.$inferSelect

/** The stored facts about the time zone of an activity with a known start. */
export type ZoneFacts = Readonly<
  Pick<Row, 'activityId' | 'timezone' | 'timezoneSource' | 'startLat' | 'startLng'> & {
    /** in whole milliseconds */
    startedAt: Date
    /** local time minus UTC, s */
    offsetS: number | null
    /** local time minus UTC in the FIT file that the activity was made from, s */
    fileOffsetS: number | null
    /** the first position in that FIT file, degrees */
    fileLat: number | null
    fileLng: number | null
  }
>

/** A new time zone of an activity, with the stored facts that it was found from. */
export type ZoneChange = Readonly<{
  timezone: string
  timezoneSource: NonNullable<Row['timezoneSource']>
  offsetS: number
  was: ZoneFacts
}>

/** Finds the stored facts about the time zones of an account's activities, earliest start first. */
export async function findZoneFacts(tx: Tx, accountId: number): Promise<ZoneFacts[]> {
  const { rows } = await tx.client.query<ZoneFacts>(
    `SELECT a.activity_id AS "activityId", date_trunc('milliseconds', a.started_at) AS "startedAt", a.timezone,
       a.timezone_source AS "timezoneSource", a.start_lat AS "startLat", a.start_lng AS "startLng",
       extract(epoch FROM a.started_at_local - a.started_at AT TIME ZONE 'UTC')::int AS "offsetS", f.*
     FROM training.activities a LEFT JOIN (
       SELECT u.activity_id, min(f.utc_offset_s) AS "fileOffsetS",
         (array_agg(f.start_lat ORDER BY u.seen_at, f.file_id) FILTER (WHERE f.start_lat IS NOT NULL))[1] AS "fileLat",
         (array_agg(f.start_lng ORDER BY u.seen_at, f.file_id) FILTER (WHERE f.start_lat IS NOT NULL))[1] AS "fileLng"
       FROM training.uploads u JOIN training.fit_files f USING (account_id, content_id)
       WHERE u.account_id = $1 GROUP BY 1) f USING (activity_id)
     WHERE a.account_id = $1 AND isfinite(a.started_at)
     ORDER BY a.started_at, a.activity_id`,
    [accountId],
  )
  return rows
}

/** Writes time zones and local starts, unless the facts behind them have changed. Returns the number of changed rows. */
export async function recordZones(tx: Tx, changes: readonly ZoneChange[]): Promise<number> {
  const found = changes.map(({ was, ...zone }) => ({ ...was, ...zone, wasSource: was.timezoneSource }))
  const { rowCount } = await tx.client.query(
    `WITH found AS (
       SELECT a.activity_id, f.timezone, f."timezoneSource", f."offsetS"
       FROM jsonb_to_recordset($1::jsonb) AS f ("activityId" int, timezone text, "timezoneSource" text, "offsetS" int,
         "startedAt" timestamptz, "wasSource" text, "startLat" float8, "startLng" float8)
       JOIN training.activities a ON a.activity_id = f."activityId"
       WHERE date_trunc('milliseconds', a.started_at) = f."startedAt"
         AND (a.timezone_source, a.start_lat, a.start_lng) IS NOT DISTINCT FROM (f."wasSource", f."startLat", f."startLng")
       ORDER BY a.activity_id FOR UPDATE OF a)
     UPDATE training.activities a SET timezone = f.timezone, timezone_source = f."timezoneSource",
       started_at_local = a.started_at AT TIME ZONE 'UTC' + make_interval(secs => f."offsetS")
     FROM found f WHERE a.activity_id = f.activity_id`,
    [JSON.stringify(found)],
  )
  return Number(rowCount)
}

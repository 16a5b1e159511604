import { queryOnce } from '../../kit/postgres.ts'

/** All mirrored activity data: one line for each row, and one for each activity's samples in order. */
const QUERIES = {
  // A repair of a damaged value updates the row twice.
  activities: `select (to_jsonb(a) - 'updated_at')::text as row from training.activities a order by activity_id`,
  samples: `select concat_ws(' ', activity_id, count(*), md5(string_agg(s::text, ' ' order by t, ordinal))) as row
    from training.samples s group by activity_id order by activity_id`,
  sample_extras: `select concat_ws(' ', activity_id, field, cardinality("values"), md5(x::text)) as row
    from training.sample_extras x order by activity_id, field`,
  power_curves: 'select c::text as row from training.power_curves c order by activity_id, duration_s',
  activity_intensity: 'select i::text as row from training.activity_intensity i order by activity_id',
  ride_measures: 'select m::text as row from training.ride_measures m order by activity_id',
  raw_documents: `select concat_ws(' ', activity_id, fetched_at, sha256, encoding, md5(body)) as row
    from training.raw_documents order by activity_id`,
  revisions: 'select r::text as row from training.activity_revisions r order by activity_id, observed_at',
}

/** Reads every table of the activities, so that two states can be compared row by row. */
export async function readTables(databaseUrl: string): Promise<Record<keyof typeof QUERIES, unknown[]>> {
  const tables: Record<string, unknown[]> = {}
  for (const [table, query] of Object.entries(QUERIES)) {
    tables[table] = (await queryOnce(databaseUrl, query)).map(({ row }) => row)
  }
  return tables as Record<keyof typeof QUERIES, unknown[]>
}

/** Statements that damage or delete everything derived from the stored responses. */
export const DAMAGE: readonly string[] = [
  'update training.samples set power = -1, ordinal = 3 where activity_id % 4 = 0',
  'delete from training.samples where activity_id % 4 = 1',
  'insert into training.samples (activity_id, t) select activity_id, t from training.samples where activity_id % 4 = 2',
  'delete from training.sample_extras where activity_id % 2 = 0',
  `insert into training.sample_extras (activity_id, field, "values") select activity_id, 'planted', '{1}' from training.activities`,
  'delete from training.power_curves where activity_id % 3 = 0',
  'update training.power_curves set watts = 1, season = null where activity_id % 3 = 1',
  'delete from training.activity_intensity where activity_id % 3 = 0',
  'update training.activity_intensity set power_z1_s = 1, ftp = null where activity_id % 3 = 1',
  'delete from training.ride_measures where activity_id % 3 = 0',
  'update training.ride_measures set work_kj = -1, cadence_s = null where activity_id % 3 = 1',
  `update training.activities set xss = -1, focus = 'damaged', sample_count = null, samples_at = null, elapsed_s = 0, start_lat = 1, east = null, activity_type = 'none',
     summary = '{}', summary_hash = 'damaged', detail_fields = detail_fields || '{"activity_type": "none"}'
   where activity_id % 3 = 1`,
  `update training.activities set sample_count = 0, started_at = '2001-01-01', started_at_local = '2001-01-01', name = 'damaged',
     description = 'damaged' where activity_id % 3 = 2`,
]

import { SAMPLE_FIELDS } from '../../../core/store/samples/encode-samples.ts'
import { type ExtraField, findExtras } from '../../../core/store/samples/stored-samples.ts'
import { samples } from '../../../core/store/schema/index.ts'
import type { Tx } from '../../../core/store/store.ts'
import { BYTES_A_CHARACTER, quoteCsv } from '../../../kit/text.ts'
import type { TrackFormat } from '../export-formats.ts'
import {
  columnsOf,
  cutPage,
  type ExportColumn,
  type ExportPage,
  type ExportValues,
  findColumnPages,
  makeSelection,
} from './exported-columns.ts'

/** An activity to export: its state, and everything but its samples as JSON. */
export type ExportedActivity = {
  activityId: number
  path: string
  detailState: 'wanted' | 'awaiting_samples' | 'mirrored' | 'failed'
  sampleCount: number
  hasPositions: boolean
  fetchError: string | null
  /** one JSON object: activity_id, path, name, start, …, and the summary as the service sent it */
  document: string
}

/** Rows per page, about 300 kB: large enough to hide the round trip to the database, small enough for several pages in memory. */
const ROWS_A_PAGE = 2_000

export const EXPORT_COLUMNS = ['activity_id', 'path', 't', ...SAMPLE_FIELDS] as const

// A time in SQL as ISO 8601. The service sends milliseconds; a more precise time keeps its microseconds.
const ISO_TIME = `to_char(t at time zone 'UTC', case when date_trunc('milliseconds', t) = t
  then 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"' else 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' end)`
// The order of the samples, which the values of sample_extras follow. Samples of the same time are ordered by ordinal, or without ordinals
// by their place in the table.
const ORDER = 't nulls first, ordinal, ctid'
const FIELDS = SAMPLE_FIELDS.join(', ')
const OF_SAMPLES = columnsOf(samples)
const ACTIVITY: ExportColumn = { name: 'activity_id', type: 'int32' }
const MEASURED = ['t', ...SAMPLE_FIELDS].flatMap((field) => OF_SAMPLES.filter(({ name }) => name === field))

/** Finds an activity by its path, even if the service no longer lists it, because the mirrored data stay. */
export async function findExportedActivity(tx: Tx, input: { accountId: number; path: string }) {
  const { rows } = await tx.client.query<ExportedActivity>(
    `select activity_id as "activityId", path, detail_state as "detailState", coalesce(sample_count, 0) as "sampleCount",
            fetch_error as "fetchError", start_lat is not null as "hasPositions", (select row_to_json(a)::text from (
              select v.activity_id, v.path, v.name, v.description, v.activity_type, v.started_at, v.timezone, v.started_at_local,
                     v.sample_count, v.elapsed_s, v.fetched_at, v.absent_since, v.summary) a) as document
     from training.activities v where v.account_id = $1 and v.path = $2`,
    [input.accountId, input.path],
  )
  return rows[0]
}

/**
 * Finds the samples of an activity by time as lines, one page at a time. Numbers use the shortest text that reads back as the stored value;
 * `t` is ISO 8601 in UTC; NULL is an empty field or null. In JSON, `extras` has the fields without a column, if the activity has any, and
 * infinities are strings.
 */
export async function* findSampleLines(
  tx: Tx,
  { activityId, path, form }: { activityId: number; path: string; form: 'csv' | 'json' },
): AsyncGenerator<string[]> {
  const known = 'select from training.sample_extras where activity_id = $1 limit 1'
  const query =
    form === 'csv' ? CSV_QUERY : jsonQuery((await tx.client.query(known, [activityId])).rows.length > 0)
  const before = form === 'csv' ? `${activityId},${quoteCsv(path)},` : ''
  for await (const lines of findLinePages(tx, query, activityId)) yield lines.map((line) => before + line)
}

/** Yields the track of an activity as pieces of a text file, see training.gpx, training.tcx and training.geojson. */
export async function* findTrack(tx: Tx, activityId: number, format: TrackFormat): AsyncGenerator<string> {
  const query = `select training.${format}($1)::text as line`
  for await (const lines of findLinePages(tx, query, activityId)) yield `${lines.join('\n')}\n`
}

/** Yields the column `line` of a query for one activity (`$1`), one page at a time. */
async function* findLinePages(tx: Tx, query: string, activityId: number): AsyncGenerator<string[]> {
  // Set no limit: while a person pages through the output, the transaction may be idle for a long time.
  await tx.client.query('SET LOCAL idle_in_transaction_session_timeout = 0')
  await tx.client.query(`DECLARE exported NO SCROLL CURSOR FOR ${query}`, [activityId])
  for (let found = ROWS_A_PAGE; found === ROWS_A_PAGE; ) {
    const { rows } = await tx.client.query<{ line: string }>(`FETCH ${ROWS_A_PAGE} FROM exported`)
    if (rows.length > 0) yield rows.map(({ line }) => line)
    found = rows.length
  }
  await tx.client.query('CLOSE exported')
}

/**
 * The columns of samples in every columnar file: `activity_id`, `path`, `t`, the measured values, and `extras`, a JSON object with the
 * fields that have no column. Separate columns for these fields would differ between files in name and type.
 */
export const SAMPLE_COLUMNS: readonly ExportColumn[] = [
  ACTIVITY,
  { name: 'path', type: 'text' },
  ...MEASURED,
  { name: 'extras', type: 'text' },
]

/**
 * Yields the samples of activities as pages of SAMPLE_COLUMNS: one activity after another, each by time, and one activity per page. A
 * single query finds all samples, because with a query for each activity Postgres would idle in between.
 */
export async function* findSamplePages(
  tx: Tx,
  activities: readonly { activityId: number; path: string }[],
): AsyncGenerator<ExportPage> {
  const activityIds = activities.map(({ activityId }) => Number(activityId))
  const extras = await findExtras(tx, activityIds)
  const columns = [ACTIVITY, ...MEASURED]
  const query = `select ${columns.map((column) => makeSelection('s', column)).join(', ')}
                 from unnest('{${activityIds}}'::int[]) activity,
                      lateral (select * from training.samples where activity_id = activity order by ${ORDER}) s`
  let [place, done] = [0, 0]
  for await (const page of findColumnPages(tx, query, columns)) {
    const ids = page.columns[0]?.values as Int32Array
    for (let from = 0, to: number; from < page.rows; from = to) {
      to = from + 1
      while (to < page.rows && ids[to] === ids[from]) to += 1
      while (place < activities.length && activities[place]?.activityId !== ids[from]) {
        place += 1
        done = 0
      }
      const activity = activities[place]
      // SQL does not guarantee the order of a join, but samples find their extras by their position, so check it.
      if (!activity) throw new Error(`store: the samples of activity ${ids[from]} came out of turn`)
      const rows = to - from
      const [id, ...measured] = rows === page.rows ? page.columns : cutPage(page, from, to).columns
      const path: ExportValues = { values: [activity.path], nulls: new Uint8Array(rows), isSame: true }
      const texts = writeExtras(extras.get(activity.activityId) ?? [], done, done + rows)
      yield { rows, columns: [id as ExportValues, path, ...measured, texts] }
      done += rows
    }
  }
}

/** Initial buffer size per text, bytes; with the fields of a live service, a text has about 130 bytes. */
const TEXT_BYTES = 160

/**
 * Writes the values of these fields for the samples `from` to `to` (exclusive): one JSON object per sample without missing fields, or NULL
 * if it has none.
 */
function writeExtras(fields: readonly ExtraField[], from: number, to: number): ExportValues {
  const rows = to - from
  const [ends, nulls] = [new Int32Array(rows), new Uint8Array(rows)]
  // Do not use Node's buffer pool, because a page's bytes move to another thread.
  let bytes = Buffer.allocUnsafeSlow(fields.length > 0 ? rows * TEXT_BYTES : 0)
  let end = 0
  for (let row = 0; row < rows; row++) {
    const text = textOf(fields, from + row)
    if (text === '') nulls[row] = 1
    const needed = end + text.length * BYTES_A_CHARACTER
    if (needed > bytes.length) {
      const larger = Buffer.allocUnsafeSlow(needed * 2)
      bytes.copy(larger, 0, 0, end)
      bytes = larger
    }
    end += bytes.write(text, end)
    ends[row] = end
  }
  return { values: [], nulls, utf8: { bytes, ends } }
}

function textOf(fields: readonly ExtraField[], index: number): string {
  let members = ''
  for (const field of fields) {
    const value = jsonOf(field, index)
    if (value !== undefined) members += (members === '' ? '{' : ',') + field.key + value
  }
  return members === '' ? '' : `${members}}`
}

/** Returns the value of a field as JSON; undefined if there is none. */
function jsonOf({ numbers, nulls, others }: ExtraField, index: number): string | undefined {
  const other = others?.[index + 1] ?? null
  if (other !== null) return JSON.stringify(other)
  if (index >= nulls.length || nulls[index]) return undefined
  const value = numbers[index] as number
  return Number.isFinite(value) ? String(value) : `"${value}"`
}

// format() writes NULL as an empty text, and no value of a sample needs quotes.
const CSV_QUERY = `select format('${['t', ...SAMPLE_FIELDS].map(() => '%s').join(',')}', ${ISO_TIME}, ${FIELDS}) as line
  from training.samples where activity_id = $1 order by ${ORDER}`

function jsonQuery(withExtras: boolean): string {
  if (!withExtras) {
    return `select row_to_json(r)::text as line from (
              select ${ISO_TIME} as t, ${FIELDS} from training.samples where activity_id = $1 order by ${ORDER}) r`
  }
  return `with numbered as (
            select row_number() over (order by ${ORDER}) as n, t, ${FIELDS}
            from training.samples where activity_id = $1),
          extra as (
            select e.n, jsonb_object_agg(x.field, coalesce(x.others -> e.n::text, to_jsonb(e.value))) as extras
            from training.sample_extras x, unnest(x."values") with ordinality as e(value, n)
            where x.activity_id = $1 group by e.n)
          select row_to_json(r)::text as line from (
            select ${ISO_TIME} as t, ${FIELDS}, extras from numbered left join extra using (n) order by n) r`
}

import { findStoredSamples, IN_MAIN_RUN } from '../../../../core/store/samples/stored-samples.ts'
import type { Tx } from '../../../../core/store/store.ts'
import { hasValue } from '../../../../kit/floats.ts'
import { SECOND } from '../../../../kit/time.ts'
import { rowsOf } from '../rows-of.ts'

/** The columns that a page always plots, with the number of visible decimals; more would enlarge the 86,400 seconds of a day. */
const PLOTTED = { power: 0, p_raw: 0, mpa: 0, hr: 0, cad: 0, alt: 1, dist: 1, lat: 6, lng: 6 } as const
const NAMES = Object.keys(PLOTTED) as ReadonlyArray<keyof typeof PLOTTED>
/** Maximum plotted value: a larger value is no real measurement and would flatten the rest of the plot. */
const MAX_VALUE = 1e9
/** The columns of samples that a page plots only if a person asks for them. */
const ON_DEMAND = ['spd', 'tgt', 'tws', 'xds', 'lws', 'hws', 'pws'] as const
/** SQL: the samples of the main run of activity `$1`. */
export const PLOTTED_SAMPLES = `from training.samples s join training.activities a using (activity_id)
  where activity_id = $1 and ${IN_MAIN_RUN}`

type SampledColumn = keyof typeof PLOTTED

/** The columns of FIT records that a page plots if they were recorded; units as in training.fit_records. */
const RECORDED = ['temperature', 'core_temperature', 'respiration_rate', 'right_power_pct'] as const
type RecordedColumn = (typeof RECORDED)[number]
/** Maximum age of a FIT record at the time of a sample, s: an older record says nothing about this sample. */
const RECORD_REACH_S = 5

/**
 * One array for each quantity, all of equal length, or empty if nothing was recorded. `elapsed_s` counts from the first sample and ascends;
 * watts and bpm are integers. Units as in training.samples.
 */
type SampleColumns = Record<SampledColumn, Array<number | null>> & {
  elapsed_s: number[]
  /** the names of further fields, which the page fetches separately */
  fields: string[]
  /** columns that only the FIT file has, of the same length; empty columns are left out */
  recorded: Partial<Record<RecordedColumn, Array<number | null>>>
}

/**
 * Finds an activity's samples as columns for a plot, and the names of its further fields. Leaves out samples without a time. A column
 * without values is empty.
 */
export async function findSampleColumns(tx: Tx, activityId: number): Promise<SampleColumns> {
  const { count, t, columns } = await findStoredSamples(tx, activityId, { withoutStrays: true })
  const first = t[0] ?? 0
  const elapsed = Array.from(t.subarray(0, count), (moment) => (moment - first) / SECOND)
  const extras = await rowsOf<{ field: string }>(tx)`
     select field from training.sample_extras where activity_id = ${activityId} order by field`
  const plotted = NAMES.map((name) => [name, plotValues(columns[name], count, PLOTTED[name])] as const)
  return {
    elapsed_s: elapsed,
    ...(Object.fromEntries(plotted) as Record<SampledColumn, Array<number | null>>),
    fields: [
      ...ON_DEMAND.filter((name) => hasValue(columns[name], count)),
      ...extras.map(({ field }) => field),
    ],
    recorded: await findRecorded(tx, activityId, elapsed),
  }
}

/** Rounds values to this many decimals. A value that cannot be plotted becomes null; returns an empty array if all are null. */
function plotValues(values: Float64Array, count: number, decimals: number): Array<number | null> {
  const factor = 10 ** decimals
  const plotted = Array.from(values.subarray(0, count), (value) =>
    Math.abs(value) <= MAX_VALUE ? Math.round(value * factor) / factor : null,
  )
  return plotted.some((value) => value !== null) ? plotted : []
}

/** Finds the plotted columns of the FIT file: for each sample, the value of the last record before it. */
async function findRecorded(tx: Tx, activityId: number, elapsed: readonly number[]) {
  const { rows } = await tx.client.query<Array<number | null>>({
    text: `select extract(epoch from t - (select min(t) ${PLOTTED_SAMPLES}))::float8,
             ${RECORDED.map((name) => `round(${name}::numeric, 2)::float8`).join(', ')}
           from training.ride_records where activity_id = $1 and t is not null and num_nonnulls(${RECORDED.join(', ')}) > 0
           order by t, position`,
    values: [activityId],
    rowMode: 'array',
  })
  let next = 0
  const places = elapsed.map((moment) => {
    while ((rows[next]?.[0] ?? Number.POSITIVE_INFINITY) <= moment) next++
    const row = rows[next - 1]
    return row && moment - (row[0] ?? 0) <= RECORD_REACH_S ? row : undefined
  })
  const columns = RECORDED.map(
    (name, index) => [name, places.map((row) => row?.[index + 1] ?? null)] as const,
  )
  return Object.fromEntries(columns.filter(([, column]) => column.some((value) => value !== null)))
}

/**
 * Finds the values of one further field of an activity, one for each sample of findSampleColumns; undefined if the field does not exist.
 */
export async function findSampleField(tx: Tx, input: { activityId: number; field: string }) {
  const column = ON_DEMAND.find((name) => name === input.field)
  if (column) {
    const { rows } = await tx.client.query<[number | null]>({
      text: `select case when s.${column} between -1e15 and 1e15 then s.${column}::float8 end ${PLOTTED_SAMPLES} order by t, ordinal, s.ctid`,
      values: [input.activityId],
      rowMode: 'array',
    })
    const values = rows.map(([value]) => value)
    return values.some((value) => value !== null) ? { field: column, values } : undefined
  }
  // The stored values are ordered by time, and those of samples without a time come first.
  const { rows } = await tx.client.query<{ values: Array<number | null>; before: number; plotted: number }>(
    `select "values", (select count(*)::int ${PLOTTED_SAMPLES}) as plotted,
       (select count(*)::int from training.samples s where s.activity_id = $1 and (s.t is null or s.t < a.recorded_from)) as before
     from training.sample_extras join training.activities a using (activity_id) where activity_id = $1 and field = $2`,
    [input.activityId, input.field],
  )
  const extra = rows[0]
  if (!extra) return undefined
  const values = extra.values.slice(extra.before, extra.before + extra.plotted)
  return {
    field: input.field,
    values: values.map((value) => (value !== null && Number.isFinite(value) ? value : null)),
  }
}

import type { Tx } from '../../../store/store.ts'

/** What a page plots by itself, each as it is selected: rounded to what can be seen, because a day has 86,400 seconds. */
const PLOTTED = {
  power: 'round(power::numeric)::int',
  p_raw: 'round(p_raw::numeric)::int',
  mpa: 'round(mpa::numeric)::int',
  hr: 'round(hr::numeric)::int',
  cad: 'round(cad::numeric)::int',
  alt: 'round(alt::numeric, 1)::float8',
  dist: 'round(dist::numeric, 1)::float8',
  lat: 'round(lat::numeric, 6)::float8',
  lng: 'round(lng::numeric, 6)::float8',
} as const
const NAMES = Object.keys(PLOTTED) as ReadonlyArray<keyof typeof PLOTTED>
/** The columns of samples that a page plots on demand. */
const ON_DEMAND = ['spd', 'tgt', 'tws', 'xds', 'lws', 'hws', 'pws'] as const
// The order of sample_extras, without the samples that have no time, which come first.
const IN_ORDER = 'from training.samples where activity_id = $1 and t is not null order by t, ordinal, ctid'

export type SampledColumn = keyof typeof PLOTTED

/**
 * One array a quantity, of one length or empty when nothing of it was recorded. `elapsed_s` counts from the first sample and
 * ascends; watts and beats are whole. Units as in training.samples.
 */
export type SampleColumns = Record<SampledColumn, Array<number | null>> & {
  elapsed_s: number[]
  /** the names of further fields, which are fetched one by one */
  fields: string[]
}

/**
 * Finds an activity's samples as columns for a plot, and the names of its further fields; samples without a time are left
 * out. A column of which nothing was recorded is empty.
 */
export async function findSampleColumns(tx: Tx, activityId: number): Promise<SampleColumns> {
  const finite = (expression: string, name: string) =>
    `case when ${name} between -1e9 and 1e9 then ${expression} end`
  const { rows } = await tx.client.query<Array<number | null>>({
    text: `select extract(epoch from t - min(t) over ())::float8,
             ${NAMES.map((name) => finite(PLOTTED[name], name)).join(', ')} ${IN_ORDER}`,
    values: [activityId],
    rowMode: 'array',
  })
  const columns = NAMES.map((_, index) => rows.map((row) => row[index + 1] ?? null))
  const recorded = columns.map((column) => (column.some((value) => value !== null) ? column : []))
  return {
    elapsed_s: rows.map((row) => row[0] ?? 0),
    ...(Object.fromEntries(NAMES.map((name, index) => [name, recorded[index]])) as Omit<
      SampleColumns,
      'elapsed_s' | 'fields'
    >),
    fields: await findFieldNames(tx, activityId),
  }
}

async function findFieldNames(tx: Tx, activityId: number): Promise<string[]> {
  const { rows } = await tx.client.query<{ fields: string[]; extras: string[] }>(
    `select array_remove(array[${ON_DEMAND.map((name) => `case when count(${name}) > 0 then '${name}' end`).join(', ')}], null) as fields,
       array(select field from training.sample_extras where activity_id = $1 order by field) as extras
     from training.samples where activity_id = $1 and t is not null`,
    [activityId],
  )
  return [...(rows[0]?.fields ?? []), ...(rows[0]?.extras ?? [])]
}

/** A further field of the samples, a value for each of them. */
export type SampleField = { field: string; values: Array<number | null> }

/** Finds one further field of an activity, in the order of findSampleColumns; undefined when it has none of that name. */
export async function findSampleField(
  tx: Tx,
  input: { activityId: number; field: string },
): Promise<SampleField | undefined> {
  const column = ON_DEMAND.find((name) => name === input.field)
  if (column) {
    const { rows } = await tx.client.query<[number | null]>({
      text: `select case when ${column} between -1e15 and 1e15 then ${column}::float8 end ${IN_ORDER}`,
      values: [input.activityId],
      rowMode: 'array',
    })
    const values = rows.map(([value]) => value)
    return values.some((value) => value !== null) ? { field: column, values } : undefined
  }
  const { rows } = await tx.client.query<{ values: Array<number | null>; before: number }>(
    `select "values", (select count(*)::int from training.samples s where s.activity_id = $1 and s.t is null) as before
     from training.sample_extras where activity_id = $1 and field = $2`,
    [input.activityId, input.field],
  )
  const extra = rows[0]
  if (!extra) return undefined
  const values = extra.values.slice(extra.before)
  return {
    field: input.field,
    values: values.map((value) => (value !== null && Number.isFinite(value) ? value : null)),
  }
}

import { isDeepStrictEqual } from 'node:util'
import { fitsFloat4 } from '../../kit/floats.ts'
import { isObject } from '../../kit/json.ts'
import { cleanJson, cleanText } from '../clean.ts'
import { DOUBLES, SAMPLE_FIELDS } from '../samples/encode-samples.ts'
import { columnsOfMeasures } from '../samples/measures-rows.ts'
import { findSameSamples } from '../samples/same-samples.ts'
import { othersOf } from '../samples/sample-extras.ts'
import { activities } from '../schema/index.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'
import { findChanges } from './activity-changes.ts'
import { type AnswerKey, isNotOlder } from './activity-outcome.ts'
import { columnsToWrite, type DerivedDetail, KNOWN_ROW, type KnownRow } from './detail-columns.ts'
import { fieldsOfEntry, type ListedActivity } from './upsert-listed.ts'

/**
 * A field whose value in the tables is another one than in the service's answer: a column, `summary.NAME`, `list_fields.NAME` and
 * `detail_fields.NAME` (what the list and the detail said last), `raw_documents`, or `samples.NAME`, `power_curves`,
 * `activity_intensity.NAME` and `ride_measures.NAME`, which have the first of `cells` values that differ.
 */
export type Difference = { field: string; mirrored: Json; service: Json; cells: number }

/**
 * Compares everything that the tables hold of an activity with what would be written for an answer with samples: columns,
 * summary, every sample with its extras, power curve, intensity and measures; and what the list said last with `entry`, when it was
 * listed after that. Returns undefined when the row has a newer answer. The row is locked against changes until the transaction
 * ends; nothing is written.
 */
export async function findDifferences(
  tx: Tx,
  input: DerivedDetail & AnswerKey & { entry?: { activity: ListedActivity; listedAt: Date } | undefined },
): Promise<Difference[] | undefined> {
  const { activityId, row, samples, place, entry } = input
  const [held] = await tx.db.select().from(activities).where(isNotOlder(input)).for('share')
  if (!held) return undefined
  const known = `SELECT ${KNOWN_ROW} FROM training.activities a WHERE a.activity_id = $1`
  const { rows } = await tx.client.query<KnownRow>(known, [activityId])
  const [before] = rows
  if (!before) return undefined
  const list = {
    ...before.list_fields,
    ...(entry && entry.listedAt >= held.listedAt && fieldsOfEntry(entry.activity)),
  }
  const hasContent = samples.count > 0 || (held.sampleCount ?? 0) === 0
  const content = hasContent ? { samples, place } : undefined
  const { after, fields } = columnsToWrite(row, { before: { ...before, list_fields: list }, content })
  const changes = await findChanges(tx, activityId, { ...after, ...(content && input.run) })
  const inRow = [
    ...Object.entries(changes).map(([field, change]) => differenceOf(field, change)),
    ...compareMembers('list_fields', held.listFields, list),
    ...compareMembers('detail_fields', held.detailFields, fields),
    // A column that differs shows what the summary would show again.
    ...(Object.keys(changes).length > 0
      ? []
      : compareMembers('summary', held.summary, cleanJson(input.summary))),
  ]
  if (!hasContent) return inRow
  const same = await findSameSamples(tx, input)
  const inSamples = same ? [] : await findSampleDifferences(tx, input)
  return [...inRow, ...inSamples, ...(await findDerivedDifferences(tx, input))]
}

/** Compares two objects member by member; one that is missing is null. */
function compareMembers(what: string, held: unknown, sent: unknown): Difference[] {
  const [before, after] = [membersOf(held), membersOf(sent)]
  return Object.keys({ ...before, ...after })
    .map((name) => differenceOf(`${what}.${name}`, [before[name] ?? null, after[name] ?? null]))
    .filter(({ mirrored, service }) => !isDeepStrictEqual(mirrored, service))
}

function differenceOf(field: string, [mirrored, service]: [Json, Json]): Difference {
  return { field, mirrored, service, cells: 1 }
}

function membersOf(value: unknown): Record<string, Json> {
  return isObject(value) ? (value as Record<string, Json>) : {}
}

/** The values of one column, those of the table as Postgres writes them. */
type Cells = { field: string; held: readonly unknown[]; sent: readonly unknown[] }

async function findSampleDifferences(
  tx: Tx,
  { activityId, samples, sampleExtras = [] }: DerivedDetail & { activityId: number },
): Promise<Difference[]> {
  const { rows } = await tx.client.query<Record<string, unknown>>(
    `SELECT (extract(epoch FROM t) * 1000000)::float8 / 1000 AS t, ${SAMPLE_FIELDS.map((field) => `${field}::float8`).join(', ')}
     FROM training.samples WHERE activity_id = $1 ORDER BY t NULLS FIRST, ordinal, ctid`,
    [activityId],
  )
  const cells = Math.abs(rows.length - samples.count)
  if (cells > 0) return [{ field: 'samples', mirrored: rows.length, service: samples.count, cells }]
  const ofColumn = (field: string, values: Float64Array, store: (value: number) => number | null): Cells => ({
    field: `samples.${field}`,
    held: rows.map((row) => row[field]),
    sent: Array.from(values.subarray(0, samples.count), store),
  })
  const { rows: extras } = await tx.client.query<{
    field: string
    values: Array<number | null>
    others: Json
  }>('SELECT field, "values", others FROM training.sample_extras WHERE activity_id = $1', [activityId])
  const sentExtras = new Map(sampleExtras.map((extra) => [cleanText(extra.field), extra]))
  const names = new Set([...extras.map(({ field }) => field), ...sentExtras.keys()])
  const differences = [
    ofColumn('t', samples.t, storedMoment),
    ...SAMPLE_FIELDS.map((field) =>
      ofColumn(field, samples.columns[field], DOUBLES.includes(field) ? storedDouble : storedReal),
    ),
    ...[...names].sort().map((field): Cells => {
      const held = extras.find((extra) => extra.field === field)
      const sent = sentExtras.get(field)
      return {
        field: `samples.${field}`,
        held: held ? valuesOf(held.values, membersOf(held.others)) : [],
        sent: sent
          ? valuesOf(Array.from(sent.values.subarray(0, sent.count), storedDouble), othersOf(sent) ?? {})
          : [],
      }
    }),
  ].flatMap(compareCells)
  // The rows hold the same values in another order, or with another number among samples of one time.
  return differences.length > 0
    ? differences
    : [{ field: 'samples', mirrored: 'in another order', service: 'in order', cells: samples.count }]
}

/** Puts the other values in their places among the numbers; places count from 1. */
function valuesOf(numbers: readonly unknown[], others: Record<string, unknown>): unknown[] {
  return numbers.map((value, index) => others[index + 1] ?? value)
}

const storedMoment = (ms: number) => (Number.isNaN(ms) ? null : Math.round(ms * 1_000) / 1_000)
const storedDouble = (value: number) => (Number.isNaN(value) ? null : value)
const storedReal = (value: number) =>
  Number.isNaN(value) || (Number.isFinite(value) && !fitsFloat4(value)) ? null : Math.fround(value)

function compareCells({ field, held, sent }: Cells): Difference[] {
  let cells = 0
  let first = -1
  for (let index = 0; index < Math.max(held.length, sent.length); index++) {
    if (isDeepStrictEqual(held[index] ?? null, sent[index] ?? null)) continue
    cells++
    if (first < 0) first = index
  }
  if (cells === 0) return []
  const cell = (value: unknown) => (value ?? null) as Json
  return [{ field, mirrored: cell(held[first]), service: cell(sent[first]), cells }]
}

async function findDerivedDifferences(
  tx: Tx,
  { activityId, powerCurve, intensity, measures }: DerivedDetail & { activityId: number },
): Promise<Difference[]> {
  const { rows } = await tx.client.query<{ curve: Json[]; intensity: Json; measures: Json }>(
    `SELECT (SELECT coalesce(jsonb_agg(jsonb_build_array(duration_s, watts::float8, source,
         (c.account_id, c.season, c.started_at_local, c.sport) IS NOT DISTINCT FROM
         (a.account_id, date_part('year', a.started_at_local)::int, a.started_at_local, a.sport)) ORDER BY duration_s), '[]')
       FROM training.power_curves c WHERE activity_id = $1) AS curve,
       (SELECT jsonb_build_object('ftp', ftp, 'powerZonesS', CASE WHEN power_z1_s IS NOT NULL THEN
          jsonb_build_array(power_z1_s, power_z2_s, power_z3_s, power_z4_s, power_z5_s, power_z6_s, power_z7_s) END,
          'aboveFtpS', above_ftp_s, 'nearMpaS', near_mpa_s, 'hrPeak', hr_peak, 'hrAtLeastS', to_jsonb(hr_at_least_s),
          'spacingS', sample_spacing_s, 'ofActivity', (i.account_id, i.day, i.absent) IS NOT DISTINCT FROM
          (a.account_id, a.started_at_local::date, a.absent_since IS NOT NULL)
          AND i.month = coalesce(date_trunc('month', a.started_at_local)::date, '-infinity'))
        FROM training.activity_intensity i WHERE activity_id = $1) AS intensity,
       (SELECT to_jsonb(m) - '{activity_id,account_id}'::text[] FROM training.ride_measures m
        WHERE activity_id = $1 AND m.account_id = a.account_id) AS measures
     FROM training.activities a WHERE a.activity_id = $1`,
    [activityId],
  )
  const [held] = rows
  const points = (powerCurve?.points ?? []).map(({ durationS, watts }) => [
    ...[durationS, Math.fround(watts), powerCurve?.source ?? null, true],
  ])
  return [
    ...compareCells({ field: 'power_curves', held: held?.curve ?? [], sent: points }),
    // What the rows repeat of their activity is right or not.
    ...compareMembers('activity_intensity', held?.intensity, intensity && { ...intensity, ofActivity: true }),
    ...compareMembers('ride_measures', held?.measures, measures && columnsOfMeasures(measures)),
  ]
}

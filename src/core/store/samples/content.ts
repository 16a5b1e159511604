import { getTableColumns } from 'drizzle-orm'
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core'
import { copyRows } from '../copy.ts'
import { activityIntensity, activityMeasures, activityTracks, powerCurves } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import {
  type ActivitySamples,
  encodeSampleExtras,
  encodeSamples,
  type SamplesWithExtras,
} from './encode-samples.ts'

/** One point of a power curve: the best mean power over `durationS` seconds, in watts. */
export type PowerBest = Readonly<{ durationS: number; watts: number }>

/** The sample column that a power curve was computed from: `p_raw` has values of each second, `power` means of 5 s. */
export type PowerSource = 'p_raw' | 'power'

/** An activity's best mean powers, shortest duration first. */
export type PowerCurve = Readonly<{ source: PowerSource; points: readonly PowerBest[] }>

/** Seconds of an activity by intensity, one member for each column of `activity_intensity`; null if unknown. The column comments explain each. */
export type Intensity = Readonly<
  Omit<typeof activityIntensity.$inferSelect, 'activityId' | 'accountId' | 'day' | 'month' | 'absent'>
>

type Apart = 'activityId' | 'accountId' | 'sport' | 'routeId'

/** Measures of an activity, one member for each column of `ride_measures`; null if unknown. The column comments explain each. */
export type Measures = Readonly<Omit<typeof activityMeasures.$inferSelect, Apart>>

/** Track of an activity, one member for each column of `ride_tracks`. The column comments explain each. */
export type Track = Readonly<Omit<typeof activityTracks.$inferSelect, Apart>>

/** Values derived from an activity's samples. */
export type Derived = Readonly<{
  powerCurve?: PowerCurve | undefined
  intensity?: Intensity | undefined
  measures?: Measures | undefined
  track?: Track | undefined
}>

/** The samples of one activity and the values derived from them. */
export type Content = SamplesWithExtras & Derived

/**
 * Replaces the content of activities. `hasContent` is false if the activities have nothing to delete. With `keepsSamples`, samples and extras
 * are already right, and only derived values are written. The rows of the activities must be locked.
 */
export async function replaceContent(
  tx: Tx,
  activities: ReadonlyArray<Content & { hasContent: boolean; keepsSamples?: boolean }>,
): Promise<void> {
  const idsOf = (some: typeof activities) => some.map(({ activityId }) => activityId)
  const known = activities.filter(({ hasContent }) => hasContent)
  const rewritten = activities.filter(({ keepsSamples }) => !keepsSamples)
  await deleteSamples(tx, idsOf(known.filter(({ keepsSamples }) => !keepsSamples)))
  await insertSamples(tx, rewritten)
  await replaceSampleExtras(tx, rewritten)
  const changed = await replaceDerived(tx, activities, idsOf(known))
  await moveVersions(tx, [...new Set([...idsOf(rewritten), ...changed])])
}

/**
 * Replaces the derived values of activities. Activities in `known` may already have derived values. Does not rewrite a row that is already
 * right. Returns the activities with a changed row in a table that their content version covers.
 */
export async function replaceDerived(
  tx: Tx,
  activities: ReadonlyArray<Derived & { activityId: number }>,
  known: readonly number[],
): Promise<number[]> {
  const changed: number[] = []
  for (const { rowsOf, replace, isVersioned } of DERIVED_TABLES) {
    const sent = activities.flatMap((activity) => rowsOf(activity.activityId, activity))
    if (sent.length + known.length === 0) continue
    const { rows } = await tx.client.query<{ activity_id: number }>(replace, [JSON.stringify(sent), known])
    if (isVersioned) changed.push(...rows.map((row) => row.activity_id))
  }
  return changed
}

/** Deletes the samples and sample extras of activities. */
export async function deleteSamples(tx: Tx, activityIds: readonly number[]): Promise<void> {
  if (activityIds.length === 0) return
  // One activity per statement: for several, the planner may read the whole table instead of the index. All statements go in one message,
  // because each answer waits until the next activity is parsed.
  const statements = activityIds.flatMap((activityId) =>
    ['samples', 'sample_extras'].map(
      (table) => `DELETE FROM training.${table} WHERE activity_id = ${Number(activityId)}`,
    ),
  )
  await tx.client.query(statements.join('; '))
}

/** Writes the samples of activities that have none, and returns their number. Uses one COPY for all, because each takes a millisecond. */
export async function insertSamples(tx: Tx, activities: readonly ActivitySamples[]): Promise<number> {
  const filled = activities.filter(({ samples }) => samples.count > 0)
  if (filled.length === 0) return 0
  const { columns, chunks } = encodeSamples(filled)
  return await copyRows(tx.client, `training.samples (${columns.join(', ')})`, chunks)
}

/** Replaces the sample extras (per-second fields without a column) of activities that send any. */
export async function replaceSampleExtras(tx: Tx, activities: readonly SamplesWithExtras[]): Promise<void> {
  const sending = activities.filter(({ sampleExtras = [] }) => sampleExtras.length > 0)
  if (sending.length === 0) return
  // An activity without counted samples may still have extras.
  await tx.client.query('DELETE FROM training.sample_extras WHERE activity_id = ANY ($1)', [
    sending.map(({ activityId }) => activityId),
  ])
  await copyRows(
    tx.client,
    'training.sample_extras (activity_id, field, "values", others)',
    sending.flatMap((activity) => encodeSampleExtras(activity)),
  )
}

/**
 * Gives activities whose samples, extras or curve changed a version that no activity of any database has had. The version is random,
 * because two databases restored from one backup would continue with the same numbers.
 */
async function moveVersions(tx: Tx, changedIds: readonly number[]): Promise<void> {
  if (changedIds.length === 0) return
  await tx.client.query(
    `INSERT INTO musette.content_versions (activity_id, version) SELECT id, gen_random_uuid() FROM unnest($1::int[]) AS id
     ON CONFLICT (activity_id) DO UPDATE SET version = excluded.version`,
    [changedIds],
  )
}

const hexOf = (bytes: Buffer) => `\\x${bytes.toString('hex')}`

/** The tables of derived values, each with the columns that it copies from its activity `a`. */
export const DERIVED_TABLES = [
  describeTable(powerCurves, {
    key: 'duration_s',
    isVersioned: true,
    ofActivity: {
      account_id: 'a.account_id',
      season: 'training.season_of(a.started_at_local::date)',
      started_at_local: 'a.started_at_local',
      sport: 'a.sport',
    },
    // JSON has no infinities; Postgres reads them from text.
    rowsOf: ({ powerCurve }) =>
      powerCurve?.points.map(({ durationS, watts }) => ({
        ...{ durationS, source: powerCurve.source },
        watts: Number.isFinite(watts) ? watts : String(watts),
      })),
  }),
  describeTable(activityIntensity, {
    ofActivity: {
      account_id: 'a.account_id',
      day: 'a.started_at_local::date',
      month: `coalesce(training.month_of(a.started_at_local::date), '-infinity')`,
      absent: 'a.absent_since IS NOT NULL',
    },
    rowsOf: ({ intensity }) => intensity && [intensity],
  }),
  describeTable(activityMeasures, {
    ofActivity: { account_id: 'a.account_id' },
    rowsOf: ({ measures }) => measures && [measures],
  }),
  describeTable(activityTracks, {
    ofActivity: { account_id: 'a.account_id', sport: 'a.sport' },
    rowsOf: ({ track }) =>
      track && [{ ...track, points: hexOf(track.points), outline: hexOf(track.outline) }],
  }),
]

/**
 * Makes the statements of a table; `rowsOf` returns the rows, by the schema's member names. `$1` of both statements is a JSON array of such
 * rows. `replace` writes them in place of the rows of the activities `$2`, does not rewrite rows that are already right, and returns the
 * activities whose rows changed. `compare` returns the rows of the activity `$2` that differ or are missing, as JSON by column.
 */
function describeTable(
  table: PgTable,
  {
    key,
    isVersioned = false,
    ofActivity,
    rowsOf,
  }: {
    /** key column besides the activity */
    key?: string
    /** whether the version of an activity's content covers these rows */
    isVersioned?: boolean
    ofActivity: Readonly<Record<string, string>>
    rowsOf: (derived: Derived) => readonly object[] | undefined
  },
) {
  const { name, schema } = getTableConfig(table)
  // The route also depends on other activities, so a rewritten row keeps it.
  const members = Object.entries(getTableColumns(table)).filter(([member]) => member !== 'routeId')
  const columns = members.map(([, column]) => column.name)
  const types = members
    .filter(([, column]) => !(column.name in ofActivity))
    .map(([member, column]) => `"${member}" ${column.getSQLType()}`)
  const values = members.map(
    ([member, column]) => `${ofActivity[column.name] ?? `r."${member}"`} AS ${column.name}`,
  )
  const sent = `sent AS (SELECT ${values.join(', ')}
    FROM jsonb_to_recordset($1::jsonb) AS r (${types.join(', ')}) JOIN training.activities a ON a.activity_id = r."activityId")`
  const keys = ['activity_id', ...(key ? [key] : [])]
  const rowOf = (row: string) => `ROW (${columns.map((column) => `${row}.${column}`).join(', ')})`
  return {
    ...{ name, schema },
    isOneRow: key === undefined,
    isVersioned,
    rowsOf: (activityId: number, derived: Derived) =>
      (rowsOf(derived) ?? []).map((row) => ({ ...row, activityId })),
    replace: `WITH ${sent}, gone AS (
        DELETE FROM ${schema}.${name} AS held WHERE activity_id = ANY ($2::int[])
          AND NOT EXISTS (SELECT FROM sent WHERE ${keys.map((column) => `sent.${column} = held.${column}`).join(' AND ')})
        RETURNING activity_id
      ), written AS (
        INSERT INTO ${schema}.${name} AS held (${columns.join(', ')}) SELECT ${columns.join(', ')} FROM sent
        ON CONFLICT (${keys.join(', ')}) DO UPDATE SET (${columns.join(', ')}) = ${rowOf('excluded')}
        WHERE ${rowOf('held')} IS DISTINCT FROM ${rowOf('excluded')}
        RETURNING activity_id
      )
      SELECT activity_id FROM gone UNION SELECT activity_id FROM written`,
    compare: `WITH ${sent}
      SELECT to_jsonb(held) - 'activity_id' AS held, to_jsonb(sent) - 'activity_id' AS sent
      FROM (SELECT ${columns.join(', ')} FROM ${schema}.${name} WHERE activity_id = $2) AS held FULL JOIN sent USING (${keys.join(', ')})
      WHERE to_jsonb(held) IS DISTINCT FROM to_jsonb(sent) ORDER BY ${keys.join(', ')}`,
  }
}

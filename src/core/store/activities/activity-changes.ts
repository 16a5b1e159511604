import { getTableColumns } from 'drizzle-orm'
import type { DETAIL_FIELDS, LISTED_FIELDS } from '../../fields/activity-fields.ts'
import type { Row as FieldRow, SqlRow } from '../../fields/field.ts'
import { cleanRow } from '../clean.ts'
import type { Content } from '../samples/content.ts'
import type { Samples } from '../samples/encode-samples.ts'
import type { ListColumn } from '../schema/activities.ts'
import { activities } from '../schema/index.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'

/** The columns of an activity to set; the other columns keep their values. */
export type ActivityChange = Readonly<Partial<typeof activities.$inferSelect>>

const COLUMNS: Readonly<Record<string, { name: string; getSQLType(): string } | undefined>> =
  getTableColumns(activities)
/** Cached UPDATE statements, by the columns that they set; there are only a few. */
const STATEMENTS = new Map<string, string>()

/**
 * Sets columns of activities. An undefined member leaves its column unchanged, and a row that already has all values is not written. One
 * statement updates all rows that set the same columns. The SQL is cached, because drizzle takes a millisecond per activity to build it for
 * sixty columns.
 */
export async function updateActivities(tx: Tx, rows: ReadonlyArray<ActivityChange & { activityId: number }>) {
  const alike = new Map<string, Array<Record<string, unknown>>>()
  for (const row of rows) {
    const entries = entriesOf(row)
    const keys = entries.map(([key]) => key).join()
    alike.set(keys, [...(alike.get(keys) ?? []), Object.fromEntries(entries)])
  }
  for (const [keys, same] of alike) await tx.client.query(statementFor(keys), [JSON.stringify(same)])
}

function statementFor(keys: string): string {
  const known = STATEMENTS.get(keys)
  if (known !== undefined) return known
  const columns = keys.split(',').map((key) => ({ key, column: COLUMNS[key] }))
  const types = columns.map(({ key, column }) => `"${key}" ${column?.getSQLType()}`)
  const set = columns.filter(({ key }) => key !== 'activityId')
  const [held, given] = [set.map(({ column }) => `a."${column?.name}"`), set.map(({ key }) => `row."${key}"`)]
  const settings = set.map(({ column }, index) => `"${column?.name}" = ${given[index]}`)
  const made = `UPDATE training.activities a SET ${settings.join(', ')}
    FROM jsonb_to_recordset($1::jsonb) AS row (${types.join(', ')})
    WHERE a.activity_id = row."activityId" AND (${held.join(', ')}) IS DISTINCT FROM (${given.join(', ')})`
  STATEMENTS.set(keys, made)
  return made
}

/** Changed values, each as [before, after]: `{"xss":[old,new]}`. */
export type Changes = Record<string, [Json, Json]>

/** Finds the columns that `after` would change, by column name, with both values. */
export async function findChanges(tx: Tx, activityId: number, after: ActivityChange): Promise<Changes> {
  const record = Object.fromEntries(entriesOf(after).map(([key, value]) => [COLUMNS[key]?.name, value]))
  const { rows } = await tx.client.query<{ changes: Changes }>(
    `SELECT musette.differences(to_jsonb(a), to_jsonb(jsonb_populate_record(a, $2::jsonb))) AS changes
     FROM training.activities a WHERE a.activity_id = $1`,
    [activityId, JSON.stringify(record)],
  )
  return rows[0]?.changes ?? {}
}

/** Returns the columns to set and their values; a start has its microseconds. */
function entriesOf(change: ActivityChange): Array<[string, unknown]> {
  const { startedAt, startedAtLocal } = change
  const start = startedAt && { startedAt: exactStart(startedAt, startedAtLocal) }
  return Object.entries({ ...change, ...start }).filter(([key, value]) => COLUMNS[key] && value !== undefined)
}

/**
 * Formats a start as ISO 8601 in UTC with the microseconds of its local time, because a Date holds only milliseconds. The offset of a time
 * zone has no fractions of a second. `local` is `YYYY-MM-DD HH:MM:SS.ffffff`.
 */
export function exactStart(startedAt: Date, local: string | null | undefined): string {
  const beyondMs = /\.\d{3}(\d+)$/.exec(local ?? '')?.[1] ?? ''
  return startedAt.toISOString().replace('Z', `${beyondMs}Z`)
}

/** All values derived from an answer that has samples. */
export type DerivedDetail = Omit<Content, 'activityId'> & {
  readonly row: ActivityDetailRow
  readonly place: Place
  readonly run: Run
  readonly summary: unknown
  readonly summaryHash: string
}

type Row = typeof activities.$inferSelect

/** Start position and bounding box of an activity, degrees; null without a position. */
export type Place = Readonly<Pick<Row, 'startLat' | 'startLng' | 'south' | 'north' | 'west' | 'east'>>

/** When the main run of samples begins, and how many samples fall outside it; null without samples. */
export type Run = Readonly<Pick<Row, 'straySamples' | 'recordedFrom'>>

/**
 * An activity's detail, one member for each column of `training.activities`; null if the service sent nothing. `elapsedS` is the time from
 * the first to the last sample of the main run, s, and is written only together with samples. List columns that are left out keep their
 * values.
 */
export type ActivityDetailRow = Readonly<
  FieldRow<typeof DETAIL_FIELDS> & Partial<Pick<Row, ListColumn>> & { elapsedS?: number | null }
>

/** Returns the columns that a detail sets; without `content`, the columns derived from samples keep their values. */
export function columnsOfDetail(
  row: ActivityDetailRow,
  content: { samples: Samples; place: Place } | undefined,
): ActivityChange {
  const { elapsedS, ...rest } = cleanRow(row)
  if (!content) return rest
  const { samples, place } = content
  return { ...rest, elapsedS: elapsedS ?? null, sampleCount: samples.count, ...place }
}

/** The row's values, before an answer is recorded, of the fields that both list and detail have. `started_at` is in Postgres's JSON format. */
export type KnownRow = Readonly<
  SqlRow<typeof LISTED_FIELDS> &
    Record<'list_fields' | 'detail_fields', DetailFields | null> & {
      started_at: string | null
      start_lat: number | null
      timezone_source: Row['timezoneSource']
    }
>

/** SQL for the columns of KnownRow, from the activity `a`. */
export const KNOWN_ROW = `a.name, a.description, a.activity_type, to_jsonb(a.started_at) #>> '{}' AS started_at, a.start_lat,
  a.timezone_source, a.list_fields, a.detail_fields`

/**
 * Leaves out the start and its time zone if the start is unchanged, the answer has no time zone, and the row has one from elsewhere: from a
 * file, an activity nearby, a setting, the position of the file, or the position of samples that stay.
 */
function withoutKnownStart(
  after: ActivityChange,
  fields: DetailFields,
  { before, hasPlace }: { before: KnownRow; hasPlace: boolean },
): ActivityChange {
  const { startedAt: _at, startedAtLocal: _local, timezone: _zone, timezoneSource, ...rest } = after
  const known = before.detail_fields?.started_at ?? before.list_fields?.started_at
  const losesPlace = hasPlace && before.start_lat !== null
  const isFound = !['service', 'unknown', losesPlace ? 'position' : null, null].includes(
    before.timezone_source,
  )
  // A damaged start is repaired.
  const isIntact = known !== undefined && before.started_at === known.replace(/\.?0*Z$/, '+00:00')
  return timezoneSource === 'unknown' && isFound && isIntact && fields.started_at === known ? rest : after
}

/** The fields of a detail that the list has too; missing fields are left out. */
export type DetailFields = Readonly<Partial<SqlRow<typeof LISTED_FIELDS>> & { started_at?: string }>

export function fieldsOfDetail(row: ActivityDetailRow): DetailFields {
  const { name, description, activityType, startedAt, startedAtLocal } = cleanRow(row)
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(activityType !== undefined && { activity_type: activityType }),
    ...(startedAt && { started_at: exactStart(startedAt, startedAtLocal) }),
  }
}

/**
 * Returns the name, description and type that a detail sets. An unchanged name or description of the detail is not set, because the row may
 * hold a later value from the list, unless neither list nor detail sent the row's value. A list without a description does not clear the
 * detail's. Fields that neither sends keep their values.
 */
function shownFields(fields: DetailFields, before: KnownRow): ActivityChange {
  const { list_fields: list, detail_fields: detail } = before
  const shown = (field: 'name' | 'description') => {
    const listed = list?.[field]
    const sent = [fields[field], fields[field] === undefined ? listed : (listed ?? undefined)].filter(
      (value) => value !== undefined,
    )
    const isNews = fields[field] !== undefined && fields[field] !== detail?.[field]
    const [value] = sent
    return value !== undefined && (isNews || !sent.includes(before[field])) ? { [field]: value } : {}
  }
  const activityType = fields.activity_type ?? list?.activity_type
  return { ...shown('name'), ...shown('description'), ...(activityType != null && { activityType }) }
}

/** Returns the columns that an answer sets in a row (without `content`, none that derive from samples), and its fields that the list has too. */
export function columnsToWrite(
  row: ActivityDetailRow,
  { before, content }: { before: KnownRow; content: { samples: Samples; place: Place } | undefined },
): { fields: DetailFields; after: ActivityChange } {
  const fields = fieldsOfDetail(row)
  const { name: _name, description: _description, ...rest } = columnsOfDetail(row, content)
  const after = { ...rest, ...shownFields(fields, before) }
  return { fields, after: withoutKnownStart(after, fields, { before, hasPlace: content !== undefined }) }
}

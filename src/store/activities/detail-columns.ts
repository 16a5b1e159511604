import { cleanRow } from '../clean.ts'
import type { Samples } from '../samples/encode-samples.ts'
import type { Content } from '../samples/replace-content.ts'
import { type activities, DETAIL_COLUMNS, type DetailColumn, type ListColumn } from '../schema/activities.ts'
import { type ActivityChange, exactStart } from './activity-changes.ts'

/** Everything that is derived from one answer with samples. */
export type DerivedDetail = Omit<Content, 'activityId'> & {
  readonly row: ActivityDetailRow
  readonly place: Place
  readonly summary: unknown
  readonly summaryHash: string
}

type Row = typeof activities.$inferSelect

/** Where an activity began, and the box around it, degrees; null without a position. */
export type Place = Readonly<Pick<Row, 'startLat' | 'startLng' | 'south' | 'north' | 'west' | 'east'>>

/** Columns with the address of a picture. */
const PICTURE_COLUMNS: ReadonlySet<string> = new Set([
  'streetView',
  'activityMap',
  'chartView',
] satisfies DetailColumn[])

/** The columns with the values of an activity's summary, without the addresses of pictures. */
export const SUMMARY_COLUMNS = DETAIL_COLUMNS.filter((column) => !PICTURE_COLUMNS.has(column))

/**
 * An activity's detail, one member for each column of `training.activities`; null where the service sent nothing. `elapsedS`
 * is the time from the first sample to the last, s, and is written only together with samples. Columns of the list that are
 * left out stay as they are.
 */
export type ActivityDetailRow = Readonly<
  Pick<Row, DetailColumn> & Partial<Pick<Row, ListColumn>> & { elapsedS?: number | null }
>

/** Converts a detail to the columns that it changes; without `content` those that are derived from the samples stay. */
export function columnsOfDetail(
  row: ActivityDetailRow,
  content: { samples: Samples; place: Place } | undefined,
): ActivityChange {
  const { elapsedS, ...rest } = cleanRow(row)
  if (!content) return rest
  const { samples, place } = content
  return { ...rest, elapsedS: elapsedS ?? null, sampleCount: samples.count, ...place }
}

/** What a row holds about its start before an answer is recorded. */
export type KnownStart = Readonly<{
  detail_fields: DetailFields | null
  /** the start as the list said it last */
  listed_start: string | null
  started_at: Date | null
  timezone_source: Row['timezoneSource']
}>

/**
 * Leaves out a start that is the known one when the answer tells no time zone for it and the row has one from elsewhere: from a
 * file, an activity nearby, a setting, or from the position of samples that stay.
 */
export function withoutKnownStart(
  after: ActivityChange,
  fields: DetailFields,
  { before, hasPlace }: { before: KnownStart; hasPlace: boolean },
): ActivityChange {
  const { startedAt: _at, startedAtLocal: _local, timezone: _zone, timezoneSource, ...rest } = after
  const known = before.detail_fields?.started_at ?? before.listed_start
  const isFound = !['service', 'unknown', hasPlace ? 'position' : null, null].includes(before.timezone_source)
  // A rebuild mends a start that is damaged.
  const isIntact = known !== undefined && known !== null && before.started_at?.getTime() === Date.parse(known)
  return timezoneSource === 'unknown' && isFound && isIntact && fields.started_at === known ? rest : after
}

/** The fields of a detail that the list has, too; a missing one is left out. */
export type DetailFields = Readonly<{
  name?: string | null
  description?: string | null
  activity_type?: string | null
  started_at?: string
}>

/** Returns the fields of a detail that the list has, too. */
export function fieldsOfDetail(row: ActivityDetailRow): DetailFields {
  const { name, description, activityType, startedAt, startedAtLocal } = cleanRow(row)
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(activityType !== undefined && { activity_type: activityType }),
    ...(startedAt && { started_at: exactStart(startedAt, startedAtLocal) }),
  }
}

/** Leaves out a name or description that equals the last detail's: the row may hold a later one from the list. */
export function withoutKnownNames(
  after: ActivityChange,
  { name, description }: DetailFields,
  before: DetailFields | null,
): ActivityChange {
  const { name: _name, description: _description, ...rest } = after
  return {
    ...rest,
    ...(name !== undefined && name !== before?.name && { name }),
    ...(description !== undefined && description !== before?.description && { description }),
  }
}

/** Returns the columns that an answer sets in a row, without `content` those of its samples stay, and its fields that the list has, too. */
export function columnsToWrite(
  row: ActivityDetailRow,
  { before, content }: { before: KnownStart; content: { samples: Samples; place: Place } | undefined },
): { fields: DetailFields; after: ActivityChange } {
  const fields = fieldsOfDetail(row)
  const named = withoutKnownNames(columnsOfDetail(row, content), fields, before.detail_fields)
  return { fields, after: withoutKnownStart(named, fields, { before, hasPlace: content !== undefined }) }
}

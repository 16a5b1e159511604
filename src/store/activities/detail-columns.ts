import type { DETAIL_FIELDS, LISTED_FIELDS } from '../../fields/activity-fields.ts'
import type { Row as FieldRow, SqlRow } from '../../fields/field.ts'
import { cleanRow } from '../clean.ts'
import type { Content } from '../samples/content.ts'
import type { Samples } from '../samples/encode-samples.ts'
import type { activities, ListColumn } from '../schema/activities.ts'
import { type ActivityChange, exactStart } from './activity-changes.ts'

/** Everything that is derived from one answer with samples. */
export type DerivedDetail = Omit<Content, 'activityId'> & {
  readonly row: ActivityDetailRow
  readonly place: Place
  readonly run: Run
  readonly summary: unknown
  readonly summaryHash: string
}

type Row = typeof activities.$inferSelect

/** Where an activity began, and the box around it, degrees; null without a position. */
export type Place = Readonly<Pick<Row, 'startLat' | 'startLng' | 'south' | 'north' | 'west' | 'east'>>

/** The main run of the samples: how many are not of it, and when it begins; null without samples. */
export type Run = Readonly<Pick<Row, 'straySamples' | 'recordedFrom'>>

/**
 * An activity's detail, one member for each column of `training.activities`; null where the service sent nothing. `elapsedS`
 * is the time from the first sample of the main run to the last, s, and is written only together with samples. Columns of the list that are
 * left out stay as they are.
 */
export type ActivityDetailRow = Readonly<
  FieldRow<typeof DETAIL_FIELDS> & Partial<Pick<Row, ListColumn>> & { elapsedS?: number | null }
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

/** What a row holds of what the list and the detail both tell, before an answer is recorded; `started_at` as Postgres writes it in JSON. */
export type KnownRow = Readonly<
  SqlRow<typeof LISTED_FIELDS> &
    Record<'list_fields' | 'detail_fields', DetailFields | null> & {
      started_at: string | null
      start_lat: number | null
      timezone_source: Row['timezoneSource']
    }
>

/** The SQL of the columns of KnownRow, of the activity `a`. */
export const KNOWN_ROW = `a.name, a.description, a.activity_type, to_jsonb(a.started_at) #>> '{}' AS started_at, a.start_lat,
  a.timezone_source, a.list_fields, a.detail_fields`

/**
 * Leaves out a start that is the known one when the answer tells no time zone for it and the row has one from elsewhere: from a
 * file, an activity nearby, a setting, or from the position of samples that stay or of the file.
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
  // A start that is damaged is mended.
  const isIntact = known !== undefined && before.started_at === known.replace(/\.?0*Z$/, '+00:00')
  return timezoneSource === 'unknown' && isFound && isIntact && fields.started_at === known ? rest : after
}

/** The fields of a detail that the list also has; a missing one is left out. */
export type DetailFields = Readonly<Partial<SqlRow<typeof LISTED_FIELDS>> & { started_at?: string }>

/** Returns the fields of a detail that the list also has. */
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
 * Returns the name, description and type that a detail sets. A name or description changes when the detail's own value does, because
 * the row may hold a later one from the list; one that neither has sent was not set by the service. A list without a description
 * says nothing about it where the detail has one. What neither sends stays.
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

/** Returns the columns that an answer sets in a row, without `content` those of its samples stay, and its fields that the list has, too. */
export function columnsToWrite(
  row: ActivityDetailRow,
  { before, content }: { before: KnownRow; content: { samples: Samples; place: Place } | undefined },
): { fields: DetailFields; after: ActivityChange } {
  const fields = fieldsOfDetail(row)
  const { name: _name, description: _description, ...rest } = columnsOfDetail(row, content)
  const after = { ...rest, ...shownFields(fields, before) }
  return { fields, after: withoutKnownStart(after, fields, { before, hasPlace: content !== undefined }) }
}

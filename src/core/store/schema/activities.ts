import { desc, sql } from 'drizzle-orm'
import {
  boolean,
  check,
  doublePrecision,
  index,
  integer,
  jsonb,
  text,
  timestamp,
  unique,
} from 'drizzle-orm/pg-core'
import { DETAIL_FIELDS, LISTED_FIELDS } from '../../fields/activity-fields.ts'
import { ownAccount } from './accounts.ts'
import { columnsFor, doubles, instant, type Json, training } from './schemas.ts'

/** The sources of an activity's time zone, highest priority first. */
const TIMEZONE_SOURCES = ['service', 'position', 'file', 'nearest', 'setting', 'unknown'] as const

/** The kinds of sport, see training.sport_of(). */
export const SPORTS = ['cycling', 'running', 'swimming', 'other'] as const

/** The columns of the activity list; the time zone is derived if the list has only UTC. `started_at` is null if its date cannot be read. */
const listColumns = () => ({
  ...columnsFor(LISTED_FIELDS),
  startedAt: instant('started_at'),
  timezone: text('timezone'),
  startedAtLocal: timestamp('started_at_local', { withTimezone: false, mode: 'string' }),
  timezoneSource: text('timezone_source', { enum: TIMEZONE_SOURCES }),
})

/** A column of the activity list, which a detail may also set. */
export type ListColumn = keyof ReturnType<typeof listColumns>

export const activities = training.table(
  'activities',
  {
    activityId: integer('activity_id').primaryKey().generatedAlwaysAsIdentity(),
    accountId: ownAccount(),
    path: text('path').notNull(),
    ...listColumns(),
    detailState: text('detail_state', { enum: ['wanted', 'awaiting_samples', 'mirrored', 'failed'] })
      .notNull()
      .default('wanted'),
    sampleCount: integer('sample_count'),
    elapsedS: doublePrecision('elapsed_s'),
    samplesAt: instant('samples_at'),
    ...doubles('start_lat start_lng south north west east'),
    ...columnsFor(DETAIL_FIELDS),
    summary: jsonb('summary').$type<Json>(),
    // When to fetch the activity next, and how earlier fetches ended.
    absentSince: instant('absent_since'),
    firstSeenAt: instant('first_seen_at').notNull().default(sql`now()`),
    updatedAt: instant('updated_at').notNull().default(sql`clock_timestamp()`),
    listedAt: instant('listed_at').notNull(),
    fetchedAt: instant('fetched_at'),
    verifiedAt: instant('verified_at'),
    wantedAt: instant('wanted_at').notNull(),
    listFields: jsonb('list_fields').$type<Json>(),
    detailFields: jsonb('detail_fields').$type<Json>(),
    summaryHash: text('summary_hash'),
    nextFetchAt: instant('next_fetch_at'),
    fetchAttempts: integer('fetch_attempts').notNull().default(0),
    fetchError: text('fetch_error'),
    straySamples: integer('stray_samples'),
    recordedFrom: instant('recorded_from'),
    // A trigger derives the sport from the activity type.
    sport: text('sport', { enum: SPORTS }).notNull().default('other'),
    // Another trigger derives these columns from breakthrough, summary and list entry.
    nearBreakthrough: boolean('near_breakthrough'),
    sigManual: boolean('sig_manual'),
    sigError: text('sig_error'),
  },
  (table) => [
    unique('activities_account_path').on(table.accountId, table.path),
    index('activities_account_started').on(table.accountId, desc(table.startedAt), desc(table.activityId)),
    // The newest activities of all accounts; activities without a start come last.
    index('activities_newest')
      .on(sql`coalesce(started_at, '-infinity') desc`, desc(table.activityId))
      .where(sql`absent_since is null`),
    index('activities_start').using('gist', sql`point(start_lng, start_lat)`),
    index('activities_box').using('gist', sql`box(point(west, south), point(east, north))`),
    index('activities_to_fetch')
      .on(table.accountId, desc(table.startedAt))
      .where(sql`detail_state = 'wanted' or next_fetch_at is not null`),
    index('activities_failed').on(table.accountId, desc(table.startedAt)).where(sql`detail_state = 'failed'`),
    check(
      'activities_detail_state',
      sql`detail_state in ('wanted', 'awaiting_samples', 'mirrored', 'failed')`,
    ),
    check(
      'activities_timezone_source',
      sql`timezone_source in ('service', 'position', 'file', 'nearest', 'setting', 'unknown')`,
    ),
  ],
)

/** Makes the `activity_id` column of a row that is deleted with its activity. */
export const ownActivity = () =>
  integer('activity_id')
    .notNull()
    .references(() => activities.activityId, { onDelete: 'cascade' })

export const activityRevisions = training.table(
  'activity_revisions',
  {
    activityId: ownActivity(),
    observedAt: instant('observed_at').notNull(),
    changes: jsonb('changes').$type<Record<string, [Json, Json]>>().notNull(),
  },
  (table) => [index('activity_revisions_activity').on(table.activityId, table.observedAt)],
)

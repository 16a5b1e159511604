import { desc, sql } from 'drizzle-orm'
import { check, doublePrecision, index, integer, jsonb, text, timestamp, unique } from 'drizzle-orm/pg-core'
import { ownAccount } from './accounts.ts'
import { instant, type Json, training } from './schemas.ts'

/** The source of an activity's time zone, by falling priority. */
const TIMEZONE_SOURCES = ['service', 'position', 'file', 'nearest', 'setting', 'unknown'] as const

/** The kinds of sport, see training.sport_of(). */
export const SPORTS = ['cycling', 'running', 'swimming', 'other'] as const

/** What the activity list says, and the time zone, which is derived where the list says only UTC. `started_at` is null when the service's date cannot be read. */
const listColumns = () => ({
  name: text('name'),
  description: text('description'),
  activityType: text('activity_type'),
  startedAt: instant('started_at'),
  timezone: text('timezone'),
  startedAtLocal: timestamp('started_at_local', { withTimezone: false, mode: 'string' }),
  timezoneSource: text('timezone_source', { enum: TIMEZONE_SOURCES }),
})

/** The values of the detail in its own numbers: double precision keeps every digit. */
const detailColumns = () => ({
  maxPower: doublePrecision('max_power'),
  avgPower: doublePrecision('avg_power'),
  maxCadence: doublePrecision('max_cadence'),
  totalElevationGain: doublePrecision('total_elevation_gain'),
  totalCalories: doublePrecision('total_calories'),
  xss: doublePrecision('xss'),
  xlss: doublePrecision('xlss'),
  xhss: doublePrecision('xhss'),
  xpss: doublePrecision('xpss'),
  xep: doublePrecision('xep'),
  mep: doublePrecision('mep'),
  tws: doublePrecision('tws'),
  sp: doublePrecision('sp'),
  sfd: doublePrecision('sfd'),
  focus: text('focus'),
  specificity: text('specificity'),
  difficulty: doublePrecision('difficulty'),
  difficultyRating: text('difficulty_rating'),
  distance: doublePrecision('distance'),
  duration: doublePrecision('duration'),
  sigFtp: doublePrecision('sig_ftp'),
  sigAtc: doublePrecision('sig_atc'),
  sigPp: doublePrecision('sig_pp'),
  prevSigFtp: doublePrecision('prev_sig_ftp'),
  prevSigAtc: doublePrecision('prev_sig_atc'),
  prevSigPp: doublePrecision('prev_sig_pp'),
  prevSigLtp: doublePrecision('prev_sig_ltp'),
  medal: doublePrecision('medal'),
  breakthrough: doublePrecision('breakthrough'),
  totalGramsCarbs: doublePrecision('total_grams_carbs'),
  totalGramsFat: doublePrecision('total_grams_fat'),
  progressionDate: text('progression_date'),
  tlFtp: doublePrecision('tl_ftp'),
  tlHie: doublePrecision('tl_hie'),
  tlPp: doublePrecision('tl_pp'),
  rlFtp: doublePrecision('rl_ftp'),
  rlHie: doublePrecision('rl_hie'),
  rlPp: doublePrecision('rl_pp'),
  form: doublePrecision('form'),
  trainingStatus: doublePrecision('training_status'),
  freshness: text('freshness'),
  streetView: text('street_view'),
  activityMap: text('activity_map'),
  chartView: text('chart_view'),
})

/** A column of the activity list, which a detail may also set. */
export type ListColumn = keyof ReturnType<typeof listColumns>
export type DetailColumn = keyof ReturnType<typeof detailColumns>

/** The columns with the values of an activity's detail: this list is the only one. */
export const DETAIL_COLUMNS = Object.keys(detailColumns()) as DetailColumn[]

/** What this program remembers about fetching: when to ask (again), and how it went. */
const fetchColumns = () => ({
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
})

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
    startLat: doublePrecision('start_lat'),
    startLng: doublePrecision('start_lng'),
    south: doublePrecision('south'),
    north: doublePrecision('north'),
    west: doublePrecision('west'),
    east: doublePrecision('east'),
    ...detailColumns(),
    summary: jsonb('summary').$type<Json>(),
    ...fetchColumns(),
    straySamples: integer('stray_samples'),
    recordedFrom: instant('recorded_from'),
    // A trigger derives it from the type.
    sport: text('sport', { enum: SPORTS }).notNull().default('other'),
  },
  (table) => [
    unique('activities_account_path').on(table.accountId, table.path),
    index('activities_account_started').on(table.accountId, desc(table.startedAt), desc(table.activityId)),
    // The newest of all accounts, those without a start last.
    index('activities_newest')
      .on(sql`coalesce(started_at, '-infinity') desc`, desc(table.activityId))
      .where(sql`absent_since is null`),
    index('activities_start').using('gist', sql`point(start_lng, start_lat)`),
    index('activities_box').using('gist', sql`box(point(west, south), point(east, north))`),
    index('activities_to_fetch')
      .on(table.accountId, desc(table.startedAt))
      .where(sql`detail_state = 'wanted' or next_fetch_at is not null`),
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

/** Makes the column of a row that goes with its activity. */
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

import { desc, sql } from 'drizzle-orm'
import {
  boolean,
  check,
  date,
  doublePrecision,
  index,
  integer,
  jsonb,
  primaryKey,
  real,
  text,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core'
import { SAMPLE_VALUE_FIELDS } from '../../fields/sample-fields.ts'
import { ownAccount } from './accounts.ts'
import { ownActivity, SPORTS } from './activities.ts'
import { bytea, columnsFor, doubles, instant, integers, type Json, musette, training } from './schemas.ts'

const { lat, lng, ...others } = columnsFor(SAMPLE_VALUE_FIELDS)

// A primary or foreign key would make COPY about five times slower. Samples are always replaced as a whole, in the transaction that updates
// their activity, so neither is needed. Migrations must handle the table both plain and partitioned.
export const samples = training.table(
  'samples',
  {
    // The columns of eight bytes come first. Otherwise each row would hold 8 bytes of padding.
    t: instant('t'),
    ...{ lat, lng },
    activityId: integer('activity_id').notNull(),
    ...others,
    // NULL in nearly every row, because a NULL takes no space. A value in every row would add eight bytes to many rows.
    ordinal: integer('ordinal'),
  },
  (table) => [
    // With several value ranges per page range, rows rewritten into old holes stay fast to find. After every activity was replaced twice,
    // reading one activity takes 3 ms, or 60 ms with the default operator class.
    index('samples_activity')
      .using('brin', table.activityId.op('int4_minmax_multi_ops'))
      .with({ pages_per_range: 32, autosummarize: true }),
    // Without this index, `t > now() - interval '14 days'` reads every row.
    index('samples_t')
      .using('brin', table.t.op('timestamptz_minmax_multi_ops'))
      .with({ pages_per_range: 32, autosummarize: true }),
  ],
)

export const sampleExtras = training.table(
  'sample_extras',
  {
    activityId: ownActivity(),
    field: text('field').notNull(),
    values: doublePrecision('values').array().notNull(),
    others: jsonb('others').$type<Readonly<Record<string, Json>>>(),
  },
  (table) => [primaryKey({ columns: [table.activityId, table.field] })],
)

export const powerCurves = training.table(
  'power_curves',
  {
    activityId: ownActivity(),
    durationS: integer('duration_s').notNull(),
    watts: real('watts').notNull(),
    // Copied from the activity for the index; a trigger updates season, sport and start. The best of a season, the earliest of equals,
    // takes one index lookup: 1,200 lookups for 25 seasons. A join over all curves would read every point.
    ...integers('account_id season'),
    startedAtLocal: timestamp('started_at_local', { withTimezone: false, mode: 'string' }),
    source: text('source', { enum: ['p_raw', 'power'] }),
    sport: text('sport', { enum: SPORTS }),
  },
  (table) => [
    primaryKey({ columns: [table.activityId, table.durationS] }),
    index('power_curves_best').on(
      table.accountId,
      table.sport,
      table.season,
      table.durationS,
      desc(table.watts),
      table.startedAtLocal,
      table.activityId,
    ),
    check('power_curves_source', sql`source in ('p_raw', 'power')`),
  ],
)

/** Seconds of each activity by intensity, counted once from its samples, because sums over samples would scan millions of rows. */
export const activityIntensity = training.table(
  'activity_intensity',
  {
    activityId: ownActivity().primaryKey(),
    ftp: doublePrecision('ftp'),
    ...integers('power_z1_s power_z2_s power_z3_s power_z4_s power_z5_s power_z6_s power_z7_s'),
    ...integers('above_ftp_s near_mpa_s hr_peak'),
    hrAtLeastS: integer('hr_at_least_s').array(),
    // Copied from the activity; a trigger updates them. The view ride_intensity reads only this table.
    accountId: integer('account_id'),
    day: date('day'),
    month: date('month').notNull().default('-infinity'),
    absent: boolean('absent').notNull().default(false),
    sampleSpacingS: integer('sample_spacing_s'),
  },
  (table) => [
    // For the rows of an account, and for its highest heart rate of each month without reading rows.
    index('activity_intensity_peaks')
      .on(table.accountId, table.month, desc(table.hrPeak))
      .where(sql`not absent`),
  ],
)

/** Measures that riders often need, computed once, because each would scan millions of samples in SQL. */
export const activityMeasures = training.table('ride_measures', {
  activityId: ownActivity().primaryKey(),
  accountId: ownAccount(),
  ...integers('moving_s coasting_s'),
  ...doubles('coasting_pct work_kj mean_power weighted_power variability intensity mean_hr efficiency'),
  ...doubles('decoupling_pct hr_drift_pct ascent_m descent_m'),
  ...integers('longest_climb_from_s longest_climb_s'),
  ...doubles('longest_climb_gain_m longest_climb_length_m longest_climb_grade_pct longest_climb_vam'),
  ...integers('steepest_climb_from_s steepest_climb_s'),
  ...doubles('steepest_climb_gain_m steepest_climb_length_m steepest_climb_grade_pct steepest_climb_vam'),
  ...doubles('best_hr_1_min best_hr_5_min best_hr_20_min best_hr_60_min'),
  ...doubles('best_speed_1_min best_speed_5_min best_speed_20_min best_speed_60_min'),
  ...doubles('best_1_min_after_1000_kj best_5_min_after_1000_kj best_20_min_after_1000_kj'),
  ...doubles('best_1_min_after_2000_kj best_5_min_after_2000_kj best_20_min_after_2000_kj'),
  ...doubles('best_1_min_after_3000_kj best_5_min_after_3000_kj best_20_min_after_3000_kj'),
  cadenceS: integer('cadence_s').array(),
  cadenceWorkKj: doublePrecision('cadence_work_kj').array(),
  routeId: integer('route_id'),
})

/** The track of each activity as points, from which it is drawn and its route is found. If the track changes, a trigger clears the route. */
export const activityTracks = musette.table(
  'ride_tracks',
  {
    activityId: ownActivity().primaryKey(),
    accountId: ownAccount(),
    sport: text('sport', { enum: SPORTS }).notNull(),
    lengthM: integer('length_m').notNull(),
    points: bytea('points').notNull(),
    outline: bytea('outline').notNull(),
    routeId: integer('route_id'),
  },
  (table) => [
    index('ride_tracks_length').on(table.accountId, table.sport, table.lengthM),
    index('ride_tracks_route').on(table.routeId, table.activityId),
  ],
)

export const rawDocuments = training.table('raw_documents', {
  activityId: ownActivity().primaryKey(),
  fetchedAt: instant('fetched_at').notNull(),
  sha256: text('sha256').notNull(),
  encoding: text('encoding').notNull(),
  body: bytea('body').notNull(),
})

/** The version of an activity's samples, extras and power curve. Equal versions have equal content, even in another database. */
export const contentVersions = musette.table('content_versions', {
  activityId: ownActivity().primaryKey(),
  version: uuid('version').notNull(),
})

import { sql } from 'drizzle-orm'
import { boolean, integer, jsonb, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import {
  DEFINITION_FIELDS,
  TRAINING_INFO_FIELDS,
  WORKOUT_FIELDS,
  WORKOUT_SET_FIELDS,
} from '../../fields/training-fields.ts'
import { accounts, ownAccount } from './accounts.ts'
import { columnsFor, doubles, instant, type Json, texts, training } from './schemas.ts'

// Two partial unique indexes replace one that treats nulls as equal, which Postgres 14 lacks. Each service has its own default list.
export const workouts = training.table(
  'workouts',
  {
    accountId: integer('account_id').references(() => accounts.accountId, { onDelete: 'cascade' }),
    baseUrl: text('base_url'),
    path: text('path').notNull(),
    ...columnsFor(WORKOUT_FIELDS),
    lastModified: instant('last_modified'),
    changedAt: instant('changed_at'),
    absentSince: instant('absent_since'),
    updatedAt: instant('updated_at').notNull().default(sql`clock_timestamp()`),
    raw: jsonb('raw').$type<Json>(),
  },
  (table) => [
    uniqueIndex('workouts_account_path').on(table.accountId, table.path).where(sql`account_id is not null`),
    uniqueIndex('workouts_default_path').on(table.baseUrl, table.path).where(sql`account_id is null`),
  ],
)

export const workoutSets = training.table(
  'workout_sets',
  {
    accountId: ownAccount(),
    path: text('path').notNull(),
    position: integer('position').notNull(),
    ...columnsFor(WORKOUT_SET_FIELDS),
    resolvedAt: instant('resolved_at').notNull(),
    signature: jsonb('signature').$type<Json>(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.path, table.position] })],
)

// A definition may have no sets, or sets that could not be fetched yet.
export const workoutDefinitions = training.table(
  'workout_definitions',
  {
    accountId: ownAccount(),
    path: text('path').notNull(),
    resolvedAt: instant('resolved_at'),
    signature: jsonb('signature').$type<Json>(),
    ...columnsFor(DEFINITION_FIELDS),
    raw: jsonb('raw').$type<Json>(),
    failedAt: instant('failed_at'),
    fetchError: text('fetch_error'),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.path] })],
)

export const workoutFiles = training.table(
  'workout_files',
  {
    accountId: ownAccount(),
    workoutId: text('workout_id').notNull(),
    format: text('format').notNull(),
    content: text('content').notNull(),
    sha256: text('sha256').notNull(),
    fetchedAt: instant('fetched_at').notNull(),
    madeFor: jsonb('made_for').$type<Json>(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.workoutId, table.format] })],
)

export const trainingInfo = training.table(
  'training_info',
  {
    accountId: ownAccount(),
    observedAt: instant('observed_at').notNull(),
    lastSeenAt: instant('last_seen_at').notNull(),
    ...columnsFor(TRAINING_INFO_FIELDS),
    raw: jsonb('raw').$type<Json>(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.observedAt] })],
)

// musette.fit_form() writes this table.
export const formConstants = training.table(
  'form_constants',
  {
    accountId: ownAccount(),
    load: text('load').notNull(),
    system: text('system').notNull(),
    ...doubles('tau_days gain residual tolerance'),
    activitiesUsed: integer('activities_used').notNull(),
    activitiesKnown: integer('activities_known').notNull(),
    ...texts('convention reason'),
    formIsDifference: boolean('form_is_difference'),
    fittedAt: instant('fitted_at').notNull(),
    inputs: text('inputs').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.load, table.system] })],
)

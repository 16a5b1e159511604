import { desc, sql } from 'drizzle-orm'
import {
  bigint,
  check,
  customType,
  foreignKey,
  index,
  integer,
  jsonb,
  primaryKey,
  text,
  uuid,
} from 'drizzle-orm/pg-core'
import { accounts, ownAccount } from './accounts.ts'
import { activities } from './activities.ts'
import { instant, integers, type Json, musette, texts, training } from './schemas.ts'

export const uploads = training.table(
  'uploads',
  {
    accountId: ownAccount(),
    contentId: text('content_id').notNull(),
    fileName: text('file_name').notNull(),
    sizeBytes: bigint('size_bytes', { mode: 'number' }).notNull(),
    startedAt: instant('started_at'),
    state: text('state', {
      enum: ['seen', 'sending', 'unconfirmed', 'accepted', 'mirrored', 'duplicate', 'refused', 'attached'],
    })
      .notNull()
      .default('seen'),
    activityPath: text('activity_path'),
    activityId: integer('activity_id').references(() => activities.activityId, { onDelete: 'set null' }),
    reason: text('reason'),
    attempts: integer('attempts').notNull().default(0),
    seenAt: instant('seen_at').notNull(),
    sentAt: instant('sent_at'),
    acceptedAt: instant('accepted_at'),
    mirroredAt: instant('mirrored_at'),
    nextTryAt: instant('next_try_at'),
    resendAfter: instant('resend_after'),
    checks: integer('checks').notNull().default(0),
    otherStarts: jsonb('other_starts').$type<string[]>(),
    sentContentId: text('sent_content_id'),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.contentId] }),
    index('uploads_activity').on(table.activityId),
    index('uploads_newest').on(desc(table.seenAt), table.contentId),
    index('uploads_due').on(table.nextTryAt).where(sql`next_try_at is not null`),
    check(
      'uploads_state',
      sql`state in ('seen', 'sending', 'unconfirmed', 'accepted', 'mirrored', 'duplicate', 'refused', 'attached')`,
    ),
  ],
)

export const uploadCopies = training.table(
  'upload_copies',
  {
    accountId: integer('account_id').notNull(),
    contentId: text('content_id').notNull(),
    fileName: text('file_name').notNull(),
    seenAt: instant('seen_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.contentId, table.fileName] }),
    index('upload_copies_newest').on(desc(table.seenAt), table.contentId),
    foreignKey({
      name: 'upload_copies_upload',
      columns: [table.accountId, table.contentId],
      foreignColumns: [uploads.accountId, uploads.contentId],
    }).onDelete('cascade'),
  ],
)

// No key, because a path may be longer than an index entry. The rows of a folder are always written together.
export const waitingFiles = training.table('waiting_files', {
  folder: text('folder').notNull(),
  path: text('path').notNull(),
  accountName: text('account_name'),
  sizeBytes: bigint('size_bytes', { mode: 'number' }),
  code: text('code').notNull(),
  reason: text('reason').notNull(),
  waitingSince: instant('waiting_since').notNull(),
  lookedAt: instant('looked_at').notNull(),
})

export const syncRuns = training.table(
  'sync_runs',
  {
    runId: integer('run_id').primaryKey().generatedAlwaysAsIdentity(),
    accountId: integer('account_id').references(() => accounts.accountId, { onDelete: 'cascade' }),
    resource: text('resource').notNull(),
    kind: text('kind').notNull(),
    startedAt: instant('started_at').notNull().default(sql`clock_timestamp()`),
    finishedAt: instant('finished_at'),
    outcome: text('outcome', { enum: ['running', 'done', 'failed', 'partial', 'abandoned'] })
      .notNull()
      .default('running'),
    ...integers('listed changed fetched absent failed'),
    ...texts('error_code error'),
    bytes: bigint('bytes', { mode: 'number' }),
  },
  (table) => [
    index('sync_runs_account_started').on(table.accountId, desc(table.startedAt)),
    index('sync_runs_newest').on(desc(table.startedAt), desc(table.runId)),
    // For a view that finds the last run of each kind among years of runs.
    index('sync_runs_latest').on(table.accountId, table.resource, table.kind, desc(table.startedAt)),
    check('sync_runs_outcome', sql`outcome in ('running', 'done', 'failed', 'partial', 'abandoned')`),
  ],
)

export const syncCursors = training.table(
  'sync_cursors',
  {
    accountId: ownAccount(),
    resource: text('resource').notNull(),
    updatedFrom: instant('updated_from'),
    advancedAt: instant('advanced_at'),
    listCap: integer('list_cap'),
    listCheckedAt: instant('list_checked_at'),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.resource] })],
)

export const drift = training.table(
  'drift',
  {
    endpoint: text('endpoint').notNull(),
    field: text('field').notNull(),
    kind: text('kind').notNull(),
    example: text('example'),
    firstSeenAt: instant('first_seen_at').notNull(),
    lastSeenAt: instant('last_seen_at').notNull(),
    times: bigint('times', { mode: 'number' }).notNull().default(1),
  },
  (table) => [primaryKey({ columns: [table.endpoint, table.field, table.kind] })],
)

/** Progress of unfinished rebuilds; a row is deleted when its rebuild ends. */
export const rebuilds = musette.table('rebuilds', {
  accountId: ownAccount().primaryKey(),
  version: text('version').notNull(),
  startedAt: instant('started_at').notNull(),
  through: integer('through').notNull(),
  failed: integer('failed').array().notNull(),
})

/** Rows that are locked and never read, see acquireNamedLock. */
export const locks = musette.table('locks', { name: text('name').primaryKey() })

const xid8 = customType<{ data: string }>({ dataType: () => 'xid8' })

// Triggers write the rows, so that no statement can change something without a row. See the functions of schema `musette`.
export const changes = training.table(
  'changes',
  {
    changeId: bigint('change_id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    accountId: integer('account_id').references(() => accounts.accountId, { onDelete: 'cascade' }),
    at: instant('at').notNull().default(sql`clock_timestamp()`),
    kind: text('kind').notNull(),
    path: text('path'),
    detail: jsonb('detail').$type<{ readonly [key: string]: Json }>().notNull().default({}),
    transactionId: xid8('transaction_id').notNull().default(sql`pg_current_xact_id()`),
  },
  (table) => [index('changes_at').on(table.at)],
)

export const database = training.table(
  'database',
  {
    id: integer('id').primaryKey().default(1),
    identity: uuid('identity').notNull().defaultRandom(),
    line: uuid('line').notNull().defaultRandom(),
    lineBeganAt: instant('line_began_at').notNull().default(sql`clock_timestamp()`),
    earlierLines: uuid('earlier_lines').array().notNull().default(sql`'{}'`),
    systemIdentifier: bigint('system_identifier', { mode: 'bigint' }),
    timeline: integer('timeline'),
    databaseOid: bigint('database_oid', { mode: 'number' }),
  },
  () => [check('database_one', sql`id = 1`)],
)

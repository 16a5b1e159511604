import { sql } from 'drizzle-orm'
import { bigint, check, index, integer, jsonb, primaryKey, text, unique, uuid } from 'drizzle-orm/pg-core'
import { accounts, ownAccount } from './accounts.ts'
import { instant, type Json, musette } from './schemas.ts'

export const webhooks = musette.table('webhooks', {
  name: text('name').primaryKey(),
  changeId: bigint('change_id', { mode: 'number' }).notNull(),
  addedAt: instant('added_at').notNull().default(sql`clock_timestamp()`),
  goneAt: instant('gone_at'),
})

export const webhookMessages = musette.table(
  'webhook_messages',
  {
    number: bigint('number', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    messageId: uuid('message_id').notNull().defaultRandom(),
    webhook: text('webhook').notNull(),
    accountId: integer('account_id').references(() => accounts.accountId, { onDelete: 'cascade' }),
    event: text('event').notNull(),
    occurredAt: instant('occurred_at').notNull(),
    data: jsonb('data').$type<{ readonly [key: string]: Json }>().notNull(),
    state: text('state', { enum: ['open', 'delivered', 'given_up', 'dropped'] })
      .notNull()
      .default('open'),
    attempts: integer('attempts').notNull().default(0),
    nextTryAt: instant('next_try_at').notNull().default(sql`clock_timestamp()`),
    lastError: text('last_error'),
    createdAt: instant('created_at').notNull().default(sql`clock_timestamp()`),
    endedAt: instant('ended_at'),
  },
  (table) => [
    unique('webhook_messages_message_id').on(table.messageId),
    index('webhook_messages_open')
      .on(table.webhook, table.accountId, table.number)
      .where(sql`state = 'open'`),
    index('webhook_messages_ended').on(table.endedAt),
    check('webhook_messages_state', sql`state in ('open', 'delivered', 'given_up', 'dropped')`),
  ],
)

export const webhookWaiting = musette.table(
  'webhook_waiting',
  { accountId: ownAccount(), path: text('path').notNull() },
  (table) => [primaryKey({ columns: [table.accountId, table.path] })],
)

export const webhookDigests = musette.table(
  'webhook_digests',
  {
    accountId: ownAccount(),
    event: text('event').notNull(),
    count: integer('count').notNull(),
    beganAt: instant('began_at').notNull().default(sql`clock_timestamp()`),
    lastAt: instant('last_at').notNull().default(sql`clock_timestamp()`),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.event] })],
)

export const webhookConditions = musette.table('webhook_conditions', {
  subject: text('subject').primaryKey(),
  beganAt: instant('began_at').notNull().default(sql`clock_timestamp()`),
})

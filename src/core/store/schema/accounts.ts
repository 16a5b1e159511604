import { sql } from 'drizzle-orm'
import { boolean, check, integer, primaryKey, text } from 'drizzle-orm/pg-core'
import { bytea, instant, integers, musette, training } from './schemas.ts'

export const accounts = training.table(
  'accounts',
  {
    accountId: integer('account_id').primaryKey().generatedAlwaysAsIdentity(),
    name: text('name').notNull().unique('accounts_name'),
    baseUrl: text('base_url').notNull(),
    needsLogin: boolean('needs_login').notNull().default(true),
    lastError: text('last_error'),
    createdAt: instant('created_at').notNull().default(sql`now()`),
    timezone: text('timezone'),
    timezoneSetBy: text('timezone_set_by', { enum: ['account', 'environment'] }),
    ...integers('resting_hr max_hr'),
  },
  () => [
    check('accounts_timezone_set_by', sql`timezone_set_by in ('account', 'environment')`),
    check('accounts_resting_hr', sql`resting_hr between 20 and 250`),
    check('accounts_max_hr', sql`max_hr between 20 and 250`),
  ],
)

/** Makes the `account_id` column of a row that is deleted with its account. */
export const ownAccount = () =>
  integer('account_id')
    .notNull()
    .references(() => accounts.accountId, { onDelete: 'cascade' })

export const credentials = musette.table('credentials', {
  accountId: ownAccount().primaryKey(),
  clientId: text('client_id').notNull(),
  clientSecret: bytea('client_secret').notNull(),
  accessToken: bytea('access_token').notNull(),
  refreshToken: bytea('refresh_token').notNull(),
  username: text('username'),
  password: bytea('password'),
  keyId: text('key_id').notNull(),
  obtainedAt: instant('obtained_at').notNull(),
  expiresAt: instant('expires_at').notNull(),
  failures: integer('failures').notNull().default(0),
  notBefore: instant('not_before'),
  unreadable: boolean('unreadable').notNull().default(false),
  updatedAt: instant('updated_at').notNull().default(sql`now()`),
  refusals: integer('refusals').notNull().default(0),
  refusedSince: instant('refused_since'),
})

export const riders = musette.table('riders', {
  accountId: ownAccount().primaryKey(),
  nameHash: bytea('name_hash'),
  keyId: text('key_id'),
  pair: bytea('pair'),
  isOther: boolean('is_other').notNull().default(false),
})

export const heldLogins = musette.table(
  'held_logins',
  { login: text('login').notNull(), accountId: ownAccount() },
  (table) => [primaryKey({ columns: [table.login, table.accountId] })],
)

export const endedSessions = musette.table('ended_sessions', {
  id: text('session_id').primaryKey(),
  endsAt: instant('ends_at').notNull(),
})

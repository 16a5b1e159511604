import { sql } from 'drizzle-orm'
import { bigint, customType, index, integer, jsonb, text } from 'drizzle-orm/pg-core'
import { accounts } from './accounts.ts'
import { instant, type Json, training } from './schemas.ts'

const xid8 = customType<{ data: string }>({ dataType: () => 'xid8' })

// Triggers write the rows, see the functions of schema `musette`: no statement that changes something can forget its row.
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

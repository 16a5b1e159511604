import { jsonb, primaryKey } from 'drizzle-orm/pg-core'
import { TRAINING_INFO_FIELDS } from '../../fields/training-fields.ts'
import { ownAccount } from './accounts.ts'
import { columnsFor, instant, type Json, training } from './schemas.ts'

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

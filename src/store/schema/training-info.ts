import { doublePrecision, jsonb, primaryKey, text } from 'drizzle-orm/pg-core'
import { ownAccount } from './accounts.ts'
import { instant, type Json, training } from './schemas.ts'

export const trainingInfo = training.table(
  'training_info',
  {
    accountId: ownAccount(),
    observedAt: instant('observed_at').notNull(),
    lastSeenAt: instant('last_seen_at').notNull(),
    status: text('status'),
    weightKg: doublePrecision('weight_kg'),
    ftp: doublePrecision('ftp'),
    ltp: doublePrecision('ltp'),
    hie: doublePrecision('hie'),
    pp: doublePrecision('pp'),
    tlLow: doublePrecision('tl_low'),
    tlHigh: doublePrecision('tl_high'),
    tlPeak: doublePrecision('tl_peak'),
    tlTotal: doublePrecision('tl_total'),
    targetLow: doublePrecision('target_low'),
    targetHigh: doublePrecision('target_high'),
    targetPeak: doublePrecision('target_peak'),
    targetTotal: doublePrecision('target_total'),
    source: text('source'),
    wotdType: text('wotd_type'),
    wotdName: text('wotd_name'),
    wotdWorkoutId: text('wotd_workout_id'),
    wotdDescription: text('wotd_description'),
    wotdDifficulty: doublePrecision('wotd_difficulty'),
    wotdUrl: text('wotd_url'),
    raw: jsonb('raw').$type<Json>(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.observedAt] })],
)

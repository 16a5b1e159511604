import { desc, sql } from 'drizzle-orm'
import { boolean, date, doublePrecision, index, integer } from 'drizzle-orm/pg-core'
import { activities } from './activities.ts'
import { training } from './schemas.ts'

/** How hard each activity was, second by second, counted once from its samples: sums over them would scan millions. */
export const activityIntensity = training.table(
  'activity_intensity',
  {
    activityId: integer('activity_id')
      .primaryKey()
      .references(() => activities.activityId, { onDelete: 'cascade' }),
    ftp: doublePrecision('ftp'),
    powerZ1S: integer('power_z1_s'),
    powerZ2S: integer('power_z2_s'),
    powerZ3S: integer('power_z3_s'),
    powerZ4S: integer('power_z4_s'),
    powerZ5S: integer('power_z5_s'),
    powerZ6S: integer('power_z6_s'),
    powerZ7S: integer('power_z7_s'),
    aboveFtpS: integer('above_ftp_s'),
    nearMpaS: integer('near_mpa_s'),
    hrPeak: integer('hr_peak'),
    hrAtLeastS: integer('hr_at_least_s').array(),
    // Those of the activity; a trigger moves them with it. The view ride_intensity reads nothing else.
    accountId: integer('account_id'),
    day: date('day'),
    month: date('month').notNull().default('-infinity'),
    absent: boolean('absent').notNull().default(false),
  },
  (table) => [
    // What an account has, and its highest heart rate of each month without the rows.
    index('activity_intensity_peaks')
      .on(table.accountId, table.month, desc(table.hrPeak))
      .where(sql`not absent`),
  ],
)

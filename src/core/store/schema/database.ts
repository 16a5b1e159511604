import { sql } from 'drizzle-orm'
import { check, integer, uuid } from 'drizzle-orm/pg-core'
import { instant, training } from './schemas.ts'

export const database = training.table(
  'database',
  {
    id: integer('id').primaryKey().default(1),
    identity: uuid('identity').notNull().defaultRandom(),
    line: uuid('line').notNull().defaultRandom(),
    lineBeganAt: instant('line_began_at').notNull().default(sql`clock_timestamp()`),
    earlierLines: uuid('earlier_lines').array().notNull().default(sql`'{}'`),
  },
  () => [check('database_one', sql`id = 1`)],
)

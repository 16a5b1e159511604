import { sql } from 'drizzle-orm'
import { bigint, check, integer, text, uuid } from 'drizzle-orm/pg-core'
import { instant, musette } from './schemas.ts'

export const mqttPublisher = musette.table(
  'mqtt_publisher',
  {
    id: integer('id').primaryKey().default(1),
    publisherId: uuid('publisher_id').notNull().defaultRandom(),
    changeId: bigint('change_id', { mode: 'number' }).notNull(),
    lookedAt: instant('looked_at'),
    publishedAt: instant('published_at'),
    problem: text('problem'),
  },
  () => [check('mqtt_publisher_one', sql`id = 1`)],
)

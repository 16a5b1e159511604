import { sql } from 'drizzle-orm'
import {
  bigint,
  check,
  doublePrecision,
  foreignKey,
  integer,
  jsonb,
  type PgColumn,
  primaryKey,
  text,
} from 'drizzle-orm/pg-core'
import { uploads } from './bookkeeping.ts'
import { bytea, instant, type Json, training } from './schemas.ts'

/** A FIT content, by the key that it has in the ledger. */
const contentColumns = () => ({
  accountId: integer('account_id').notNull(),
  contentId: text('content_id').notNull(),
})

export const fitFiles = training.table(
  'fit_files',
  {
    ...contentColumns(),
    manufacturer: text('manufacturer'),
    product: text('product'),
    productNumber: integer('product_number'),
    serialNumber: bigint('serial_number', { mode: 'number' }),
    createdAt: instant('created_at'),
    startedAt: instant('started_at'),
    endedAt: instant('ended_at'),
    utcOffsetS: integer('utc_offset_s'),
    sizeBytes: bigint('size_bytes', { mode: 'number' }).notNull(),
    parts: integer('parts').notNull(),
    records: integer('records').notNull(),
    problem: text('problem'),
    fields: jsonb('fields').$type<Json>().notNull(),
    readAt: instant('read_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.contentId] }),
    foreignKey({
      name: 'fit_files_upload',
      columns: [table.accountId, table.contentId],
      foreignColumns: [uploads.accountId, uploads.contentId],
    }).onDelete('cascade'),
  ],
)

type ContentColumns = { accountId: PgColumn; contentId: PgColumn }

/** Makes the foreign key of a row that goes with its file. */
const ownFile = (name: string, { accountId, contentId }: ContentColumns) =>
  foreignKey({
    name,
    columns: [accountId, contentId],
    foreignColumns: [fitFiles.accountId, fitFiles.contentId],
  }).onDelete('cascade')

/** What sessions and laps have in common. */
const sumColumns = () => ({
  ...contentColumns(),
  position: integer('position').notNull(),
  startedAt: instant('started_at'),
  endedAt: instant('ended_at'),
  sport: text('sport'),
  subSport: text('sub_sport'),
  elapsedS: doublePrecision('elapsed_s'),
  timerS: doublePrecision('timer_s'),
  movingS: doublePrecision('moving_s'),
  distanceM: doublePrecision('distance_m'),
  workJ: doublePrecision('work_j'),
  caloriesKcal: doublePrecision('calories_kcal'),
  ascentM: doublePrecision('ascent_m'),
  descentM: doublePrecision('descent_m'),
  avgPower: doublePrecision('avg_power'),
  maxPower: doublePrecision('max_power'),
  weightedPower: doublePrecision('weighted_power'),
  rightPowerPct: doublePrecision('right_power_pct'),
  avgHr: doublePrecision('avg_hr'),
  maxHr: doublePrecision('max_hr'),
  minHr: doublePrecision('min_hr'),
  avgCadence: doublePrecision('avg_cadence'),
  maxCadence: doublePrecision('max_cadence'),
  avgSpeedMps: doublePrecision('avg_speed_mps'),
  maxSpeedMps: doublePrecision('max_speed_mps'),
  avgTemperature: doublePrecision('avg_temperature'),
  maxTemperature: doublePrecision('max_temperature'),
  startLat: doublePrecision('start_lat'),
  startLng: doublePrecision('start_lng'),
  endLat: doublePrecision('end_lat'),
  endLng: doublePrecision('end_lng'),
  fields: jsonb('fields').$type<Json>().notNull(),
})

export const fitSessions = training.table('fit_sessions', sumColumns(), (table) => [
  primaryKey({ columns: [table.accountId, table.contentId, table.position] }),
  ownFile('fit_sessions_file', table),
])

export const fitLaps = training.table(
  'fit_laps',
  { ...sumColumns(), trigger: text('trigger'), intensity: text('intensity') },
  (table) => [
    primaryKey({ columns: [table.accountId, table.contentId, table.position] }),
    ownFile('fit_laps_file', table),
  ],
)

export const fitDevices = training.table(
  'fit_devices',
  {
    ...contentColumns(),
    position: integer('position').notNull(),
    deviceIndex: integer('device_index'),
    kind: text('kind'),
    manufacturer: text('manufacturer'),
    product: text('product'),
    productNumber: integer('product_number'),
    serialNumber: bigint('serial_number', { mode: 'number' }),
    softwareVersion: doublePrecision('software_version'),
    hardwareVersion: integer('hardware_version'),
    batteryVoltage: doublePrecision('battery_voltage'),
    batteryStatus: text('battery_status'),
    batteryLevelPct: integer('battery_level_pct'),
    operatingS: doublePrecision('operating_s'),
    connection: text('connection'),
    firstAt: instant('first_at'),
    lastAt: instant('last_at'),
    messages: integer('messages').notNull(),
    fields: jsonb('fields').$type<Json>().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.contentId, table.position] }),
    ownFile('fit_devices_file', table),
  ],
)

export const fitFields = training.table(
  'fit_fields',
  {
    ...contentColumns(),
    position: integer('position').notNull(),
    name: text('name'),
    units: text('units'),
    applicationId: text('application_id'),
    developerIndex: integer('developer_index').notNull(),
    fieldNumber: integer('field_number').notNull(),
    nativeField: text('native_field'),
    count: integer('count').notNull(),
    offsetsS: integer('offsets_s').array().notNull(),
    values: doublePrecision('values').array().notNull(),
    fields: jsonb('fields').$type<Json>().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.contentId, table.position] }),
    ownFile('fit_fields_file', table),
  ],
)

export const fitOriginals = training.table(
  'fit_originals',
  {
    ...contentColumns(),
    encoding: text('encoding', { enum: ['gzip'] }).notNull(),
    body: bytea('body').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.contentId] }),
    ownFile('fit_originals_file', table),
    check('fit_originals_encoding', sql`encoding in ('gzip')`),
  ],
)

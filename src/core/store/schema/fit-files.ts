import { sql } from 'drizzle-orm'
import {
  bigint,
  check,
  doublePrecision,
  foreignKey,
  index,
  integer,
  jsonb,
  type PgColumn,
  primaryKey,
  text,
  unique,
} from 'drizzle-orm/pg-core'
import { uploads } from './bookkeeping.ts'
import {
  bytea,
  doubles,
  instant,
  type Json,
  numberList,
  reals,
  smallints,
  texts,
  training,
} from './schemas.ts'

/** The key of a FIT file's content in the upload ledger. */
const contentColumns = () => ({
  accountId: integer('account_id').notNull(),
  contentId: text('content_id').notNull(),
})

export const fitFiles = training.table(
  'fit_files',
  {
    ...contentColumns(),
    ...texts('manufacturer product'),
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
    fileId: integer('file_id').generatedAlwaysAsIdentity().notNull(),
    readerVersion: integer('reader_version').notNull().default(1),
    ...doubles('min_temperature avg_temperature max_temperature right_power_pct start_lat start_lng'),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.contentId] }),
    unique('fit_files_file_id').on(table.fileId),
    foreignKey({
      name: 'fit_files_upload',
      columns: [table.accountId, table.contentId],
      foreignColumns: [uploads.accountId, uploads.contentId],
    }).onDelete('cascade'),
  ],
)

/** Makes the keys of a table whose rows are deleted with their file. The table has one row per file, or one row per position. */
const ownFile = (
  name: string,
  { accountId, contentId, position }: { accountId: PgColumn; contentId: PgColumn; position?: PgColumn },
) => [
  primaryKey({ columns: [accountId, contentId, ...(position ? [position] : [])] }),
  foreignKey({
    name,
    columns: [accountId, contentId],
    foreignColumns: [fitFiles.accountId, fitFiles.contentId],
  }).onDelete('cascade'),
]

/** The columns that sessions and laps share. */
const sumColumns = () => ({
  ...contentColumns(),
  position: integer('position').notNull(),
  startedAt: instant('started_at'),
  endedAt: instant('ended_at'),
  ...texts('sport sub_sport'),
  ...doubles('elapsed_s timer_s moving_s distance_m work_j calories_kcal ascent_m descent_m'),
  ...doubles(
    'avg_power max_power weighted_power right_power_pct avg_hr max_hr min_hr avg_cadence max_cadence',
  ),
  ...doubles('avg_speed_mps max_speed_mps avg_temperature max_temperature'),
  ...doubles('start_lat start_lng end_lat end_lng'),
  fields: jsonb('fields').$type<Json>().notNull(),
})

export const fitSessions = training.table('fit_sessions', sumColumns(), (table) =>
  ownFile('fit_sessions_file', table),
)

export const fitLaps = training.table(
  'fit_laps',
  { ...sumColumns(), trigger: text('trigger'), intensity: text('intensity') },
  (table) => ownFile('fit_laps_file', table),
)

export const fitDevices = training.table(
  'fit_devices',
  {
    ...contentColumns(),
    position: integer('position').notNull(),
    deviceIndex: integer('device_index'),
    ...texts('kind manufacturer product'),
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
  (table) => ownFile('fit_devices_file', table),
)

export const fitFields = training.table(
  'fit_fields',
  {
    ...contentColumns(),
    position: integer('position').notNull(),
    ...texts('name units application_id'),
    developerIndex: integer('developer_index'),
    fieldNumber: integer('field_number').notNull(),
    nativeField: text('native_field'),
    count: integer('count').notNull(),
    offsetsS: numberList('offsets_s', { type: 'integer[]' }).notNull(),
    values: numberList('values', { type: 'double precision[]' }).notNull(),
    fields: jsonb('fields').$type<Json>().notNull(),
    records: numberList('records', { type: 'integer[]' }),
    others: jsonb('others').$type<Json>(),
  },
  (table) => ownFile('fit_fields_file', table),
)

// No keys, as in samples: the rows of a file are replaced together, and keys would cost most of the speed of COPY.
export const fitRecords = training.table(
  'fit_records',
  {
    // Columns of eight bytes first and of two bytes last, to save padding.
    t: instant('t'),
    ...doubles('lat lng distance_m'),
    fileId: integer('file_id').notNull(),
    position: integer('position').notNull(),
    ...reals('altitude_m speed_mps power cadence grade_pct vertical_speed_mps calories_kcal'),
    ...reals('core_temperature respiration_rate'),
    ...reals('right_power_pct left_torque_effectiveness_pct right_torque_effectiveness_pct'),
    ...reals('left_pedal_smoothness_pct right_pedal_smoothness_pct combined_pedal_smoothness_pct'),
    ...reals('left_pco_mm right_pco_mm left_power_phase_start_deg left_power_phase_end_deg'),
    ...reals('left_power_phase_peak_start_deg left_power_phase_peak_end_deg right_power_phase_start_deg'),
    ...reals('right_power_phase_end_deg right_power_phase_peak_start_deg right_power_phase_peak_end_deg'),
    ...reals('vertical_oscillation_mm vertical_ratio_pct stance_time_ms stance_time_pct'),
    ...reals('stance_time_balance_pct step_length_mm muscle_oxygen_pct total_hemoglobin battery_pct'),
    ...smallints('hr temperature gps_accuracy_m front_gear rear_gear'),
  },
  (table) => [
    index('fit_records_file')
      .using('brin', table.fileId.op('int4_minmax_multi_ops'))
      .with({ pages_per_range: 32, autosummarize: true }),
  ],
)

export const fitMessages = training.table(
  'fit_messages',
  {
    fileId: integer('file_id')
      .notNull()
      .references(() => fitFiles.fileId, { onDelete: 'cascade' }),
    position: integer('position').notNull(),
    record: integer('record').notNull(),
    t: instant('t'),
    message: text('message').notNull(),
    ...texts('event event_type'),
    fields: jsonb('fields').$type<Json>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.fileId, table.position] })],
)

export const fitOriginals = training.table(
  'fit_originals',
  {
    ...contentColumns(),
    encoding: text('encoding', { enum: ['gzip'] }).notNull(),
    body: bytea('body').notNull(),
  },
  (table) => [
    ...ownFile('fit_originals_file', table),
    check('fit_originals_encoding', sql`encoding in ('gzip')`),
  ],
)

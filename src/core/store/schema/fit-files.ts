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
  real,
  smallint,
  text,
  unique,
} from 'drizzle-orm/pg-core'
import { uploads } from './bookkeeping.ts'
import { bytea, instant, type Json, numberList, training } from './schemas.ts'

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
    fileId: integer('file_id').generatedAlwaysAsIdentity().notNull(),
    readerVersion: integer('reader_version').notNull().default(1),
    minTemperature: doublePrecision('min_temperature'),
    avgTemperature: doublePrecision('avg_temperature'),
    maxTemperature: doublePrecision('max_temperature'),
    rightPowerPct: doublePrecision('right_power_pct'),
    startLat: doublePrecision('start_lat'),
    startLng: doublePrecision('start_lng'),
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

type ContentColumns = { accountId: PgColumn; contentId: PgColumn; position?: PgColumn }

/** Makes the keys of a row that goes with its file: one row a file, or one a position. */
const ownFile = (name: string, { accountId, contentId, position }: ContentColumns) => [
  primaryKey({ columns: [accountId, contentId, ...(position ? [position] : [])] }),
  foreignKey({
    name,
    columns: [accountId, contentId],
    foreignColumns: [fitFiles.accountId, fitFiles.contentId],
  }).onDelete('cascade'),
]

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
  (table) => ownFile('fit_devices_file', table),
)

export const fitFields = training.table(
  'fit_fields',
  {
    ...contentColumns(),
    position: integer('position').notNull(),
    name: text('name'),
    units: text('units'),
    applicationId: text('application_id'),
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

// As in samples, the rows of a file are replaced together, and keys would cost most of the speed of COPY.
export const fitRecords = training.table(
  'fit_records',
  {
    // Columns of eight bytes first and of two last, which saves padding.
    t: instant('t'),
    lat: doublePrecision('lat'),
    lng: doublePrecision('lng'),
    distanceM: doublePrecision('distance_m'),
    fileId: integer('file_id').notNull(),
    position: integer('position').notNull(),
    altitudeM: real('altitude_m'),
    speedMps: real('speed_mps'),
    power: real('power'),
    cadence: real('cadence'),
    gradePct: real('grade_pct'),
    verticalSpeedMps: real('vertical_speed_mps'),
    caloriesKcal: real('calories_kcal'),
    coreTemperature: real('core_temperature'),
    respirationRate: real('respiration_rate'),
    rightPowerPct: real('right_power_pct'),
    leftTorqueEffectivenessPct: real('left_torque_effectiveness_pct'),
    rightTorqueEffectivenessPct: real('right_torque_effectiveness_pct'),
    leftPedalSmoothnessPct: real('left_pedal_smoothness_pct'),
    rightPedalSmoothnessPct: real('right_pedal_smoothness_pct'),
    combinedPedalSmoothnessPct: real('combined_pedal_smoothness_pct'),
    leftPcoMm: real('left_pco_mm'),
    rightPcoMm: real('right_pco_mm'),
    leftPowerPhaseStartDeg: real('left_power_phase_start_deg'),
    leftPowerPhaseEndDeg: real('left_power_phase_end_deg'),
    leftPowerPhasePeakStartDeg: real('left_power_phase_peak_start_deg'),
    leftPowerPhasePeakEndDeg: real('left_power_phase_peak_end_deg'),
    rightPowerPhaseStartDeg: real('right_power_phase_start_deg'),
    rightPowerPhaseEndDeg: real('right_power_phase_end_deg'),
    rightPowerPhasePeakStartDeg: real('right_power_phase_peak_start_deg'),
    rightPowerPhasePeakEndDeg: real('right_power_phase_peak_end_deg'),
    verticalOscillationMm: real('vertical_oscillation_mm'),
    verticalRatioPct: real('vertical_ratio_pct'),
    stanceTimeMs: real('stance_time_ms'),
    stanceTimePct: real('stance_time_pct'),
    stanceTimeBalancePct: real('stance_time_balance_pct'),
    stepLengthMm: real('step_length_mm'),
    muscleOxygenPct: real('muscle_oxygen_pct'),
    totalHemoglobin: real('total_hemoglobin'),
    batteryPct: real('battery_pct'),
    hr: smallint('hr'),
    temperature: smallint('temperature'),
    gpsAccuracyM: smallint('gps_accuracy_m'),
    frontGear: smallint('front_gear'),
    rearGear: smallint('rear_gear'),
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
    event: text('event'),
    eventType: text('event_type'),
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

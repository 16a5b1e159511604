import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { Decoder, Stream } from '@garmin/fitsdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findListed } from '../../../src/program/doctor/doctor-context.ts'
import { sample } from '../../kit/sampling.ts'
import { makeRecordedFit } from '../fit/make-recorded-fit.ts'
import { makeRichFit } from '../fit/make-rich-fit.ts'
import { makeSwimFit } from '../fit/make-swim-fit.ts'
import { readMessagesWithSdk } from '../fit/sdk-reader.ts'
import { openUploadRig, type UploadRig } from './rig.ts'

const recorded = makeRecordedFit()
const folder = new URL('../../../../shared/fit/', import.meta.url)
const real = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.fit')) : []
const idOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

let rig: UploadRig
beforeAll(async () => {
  rig = await openUploadRig({ env: { MUSETTE_KNOWN_RIDES: 'send' } })
})
afterAll(() => rig.close())

type Row = Record<string, unknown>

/** Columns of a field in the profile, and their values for a value of the field. */
const COLUMNS: Record<string, (value: never) => Row> = {
  timestamp: (value: string) => ({ t: new Date(value) }),
  positionLat: (value: number) => ({ lat: (value * 180) / 2 ** 31 }),
  positionLong: (value: number) => ({ lng: (value * 180) / 2 ** 31 }),
  leftPowerPhase: pair('left_power_phase_start_deg', 'left_power_phase_end_deg'),
  leftPowerPhasePeak: pair('left_power_phase_peak_start_deg', 'left_power_phase_peak_end_deg'),
  rightPowerPhase: pair('right_power_phase_start_deg', 'right_power_phase_end_deg'),
  rightPowerPhasePeak: pair('right_power_phase_peak_start_deg', 'right_power_phase_peak_end_deg'),
  ...Object.fromEntries(
    `distance distance_m, enhancedAltitude altitude_m, enhancedSpeed speed_mps, power power, grade grade_pct, heartRate hr,
     enhancedRespirationRate respiration_rate, verticalSpeed vertical_speed_mps, calories calories_kcal, batterySoc battery_pct,
     coreTemperature core_temperature, temperature temperature, gpsAccuracy gps_accuracy_m, leftPco left_pco_mm,
     rightPco right_pco_mm, leftTorqueEffectiveness left_torque_effectiveness_pct, stepLength step_length_mm,
     rightTorqueEffectiveness right_torque_effectiveness_pct, leftPedalSmoothness left_pedal_smoothness_pct,
     rightPedalSmoothness right_pedal_smoothness_pct, combinedPedalSmoothness combined_pedal_smoothness_pct,
     verticalOscillation vertical_oscillation_mm, verticalRatio vertical_ratio_pct, stanceTime stance_time_ms,
     stanceTimePercent stance_time_pct, stanceTimeBalance stance_time_balance_pct, totalHemoglobinConc total_hemoglobin,
     saturatedHemoglobinPercent muscle_oxygen_pct`
      .split(',')
      .map((entry) => entry.trim().split(' ') as [string, string])
      .map(([field, column]) => [field, (value: number) => ({ [column]: value })]),
  ),
}

function pair(start: string, end: string) {
  return ([from, to]: [number, number]) => ({ [start]: from, [end]: to })
}

/** Returns what SQL should have of a record's fields: the columns, and the remaining fields. */
function expectedOf(fields: Row): { columns: Row; left: Row } {
  const columns: Row = {}
  const left: Row = {}
  const { cadence, fractionalCadence, leftRightBalance, ...rest } = fields
  for (const [name, value] of Object.entries(rest)) {
    const make = COLUMNS[name]
    if (make) Object.assign(columns, make(value as never))
    else left[name] = value
  }
  for (const [column, narrow] of [
    ['altitude_m', 'altitude'],
    ['speed_mps', 'speed'],
    ['respiration_rate', 'respirationRate'],
  ] as const) {
    if (left[narrow] === undefined) continue
    columns[column] ??= left[narrow]
    if (columns[column] === left[narrow]) delete left[narrow]
  }
  if (typeof cadence === 'number') columns.cadence = cadence + Number(fractionalCadence ?? 0)
  else if (fractionalCadence !== undefined) left.fractionalCadence = fractionalCadence
  if (typeof leftRightBalance === 'number' && leftRightBalance >= 0x80)
    columns.right_power_pct = leftRightBalance - 0x80
  else if (leftRightBalance !== undefined) left.leftRightBalance = leftRightBalance
  return { columns, left }
}

const known = (row: Row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))
/** A float4 column holds seven digits. */
const rounded = (row: Row) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'number' && !['lat', 'lng', 'distance_m'].includes(name) ? Math.fround(value) : value,
    ]),
  )

/** Compares the records and messages that SQL has of a file with those that @garmin/fitsdk reads. */
async function expectStored(bytes: Uint8Array): Promise<void> {
  const sdk = readMessagesWithSdk(bytes)
  const rows = await rig.rows(
    `select r.* from training.fit_records r join training.fit_files using (file_id) where content_id = $1 order by position`,
    [idOf(bytes)],
  )
  const fields = await rig.rows(
    `select name, developer_index, records, "values", others, count from training.fit_fields where content_id = $1 order by position`,
    [idOf(bytes)],
  )
  const left = new Map<number, Row>()
  for (const { name, developer_index: app, records, values, others, count } of fields) {
    expect([values, records ?? values].map((list) => (list as unknown[]).length)).toEqual([count, count])
    for (const [index, value] of (values as unknown[]).entries()) {
      const record = (records as number[] | null)?.[index] ?? index + 1
      const row = left.get(record) ?? {}
      left.set(record, row)
      if (app === null) row[String(name)] = value ?? Reflect.get(Object(others), String(index + 1))
    }
  }
  const stored = rows.map(({ file_id: _, position, front_gear: __, rear_gear: ___, ...row }) => ({
    position,
    columns: rounded(known(row)),
    left: left.get(Number(position)) ?? {},
  }))
  expect(stored).toEqual(
    sdk.records.map((record, index) => {
      const { columns, left } = expectedOf(record)
      return { position: index + 1, columns: rounded(columns), left }
    }),
  )
  await expectApps(bytes, sdk)
  const messages = await rig.rows(
    `select message, t, record, m.fields from training.fit_messages m join training.fit_files using (file_id) where content_id = $1
     order by message, position`,
    [idOf(bytes)],
  )
  const own: Record<string, Row[]> = {}
  for (const row of messages) own[String(row.message)] = [...(own[String(row.message)] ?? []), row]
  const timeOf = (record: unknown) => rows[Number(record) - 1]?.t ?? null
  const named = Object.entries(own).map(([name, list = []]) => [
    name,
    list.map(({ t, fields: of }) => ({ t, developer_fields: {}, ...(of as object) })),
  ])
  const expected = Object.entries(sdk.others).map(([name, list]) => [
    name,
    list.map(({ time, fields: of, developerFields }, index) => ({
      t: time === null ? timeOf(own[name]?.[index]?.record) : new Date((time + 631_065_600) * 1_000),
      developer_fields: developerFields,
      ...of,
    })),
  ])
  expect(Object.fromEntries(named)).toEqual(Object.fromEntries(expected))
}

/** Compares the values of the apps' fields. */
async function expectApps(bytes: Uint8Array, sdk: ReturnType<typeof readMessagesWithSdk>): Promise<void> {
  const apps = await rig.rows(
    `select records, "values", others from training.fit_fields where content_id = $1 and developer_index is not null order by position`,
    [idOf(bytes)],
  )
  expect(
    apps.map(({ records, values, others }) => ({
      records: records ?? (values as unknown[]).map((_, index) => index + 1),
      values: (values as unknown[]).map(
        (value, index) => value ?? Reflect.get(Object(others), String(index + 1)),
      ),
    })),
  ).toEqual(sdk.described.map(({ records, values }) => ({ records, values })))
}

describe('the records and messages of a FIT file', () => {
  it('are in SQL with every value as @garmin/fitsdk reads it', async () => {
    await rig.importFile('recorded.fit', recorded)
    await rig.fetchWanted()
    await expectStored(recorded)
    const rich = makeRichFit()
    await rig.importFile('rich.fit', rich)
    await expectStored(rich)
  })

  it('are joined to the activity; its overview has their temperatures and balance', async () => {
    const [ride] = await rig.rows(
      `select count(*)::int as records, min(r.account) as account,
         (o.min_temperature, o.max_temperature) = (min(temperature), max(temperature)) as range,
         abs(o.avg_temperature - avg(temperature)) < 1e-9 as mean,
         abs(o.right_power_pct - avg(r.right_power_pct) filter (where power > 0)) < 1e-9 as balance
       from training.ride_records r join training.ride_overview o using (activity_id) where content_id = $1
       group by o.min_temperature, o.max_temperature, o.avg_temperature, o.right_power_pct`,
      [idOf(recorded)],
    )
    const { name: account } = rig.account
    expect(ride).toEqual({ records: 60, account, range: true, mean: true, balance: true })
  })

  // The columns, the view, its rows, and the expected text of each row.
  it.each([
    [
      'position front_gear',
      'ride_records',
      'and position in (10, 11, 20, 21) order by 1',
      '10 -, 11 50, 20 50, 21 34',
    ],
    [
      'record value other',
      'fit_field_values',
      `and field = 'surface' and record < 13 order by 1`,
      '1 - "asphalt", 12 - "gravel"',
    ],
    [
      'event event_type front_gear rear_gear record',
      'ride_events',
      'order by position',
      'timer start - - 0, rearGearChange marker 50 19 10, frontGearChange marker 34 19 20, timer stopAll - - 60',
    ],
    [
      'interval_s round(elapsed_s::numeric,3) t',
      'ride_rr_intervals',
      'and elapsed_s between 1 and 2 order by position, place',
      '0.498 1.010 2026-05-02 07:00:00+00, 0.514 1.524 2026-05-02 07:00:02+00',
    ],
    [
      'length length_type stroke strokes timer_s avg_speed_mps started_at',
      'ride_lengths',
      'order by 1',
      '1 active freestyle 14 30 0.82 2026-05-02 07:00:00+00, 2 active breaststroke 15 30 0.82 2026-05-02 07:00:30+00',
    ],
    [
      'span span_index measure seconds',
      'ride_time_in_zones',
      'and zone = 2 order by measure',
      'session 0 hr 50, session 0 power 12.25',
    ],
    [
      'gender age height_m weight_kg resting_hr max_hr max_hr_cycling max_hr_running',
      'ride_profiles',
      '',
      'female 41 1.71 62.4 44 181 178 -',
    ],
  ])('show %s in %s', async (columns, view, rest, expected) => {
    const row = columns.split(' ').map((name) => `coalesce(${name}::text, '-')`)
    const text = `select concat_ws(' ', ${row}) as row from training.${view} where content_id = $1 ${rest}`
    const rows = await rig.rows(text, [idOf(recorded)])
    expect(rows.map((found) => found.row).join(', ')).toBe(expected)
  })

  it('have a swim strap’s beats as heart rate and R-R intervals, and the watch’s values', async () => {
    const beats = Array.from({ length: 33 }, (_, index) => [index * 0.75 + 0.5, 120 + index] as const)
    const swim = makeSwimFit({ seconds: 20, beats, hr: 99 })
    await rig.importFile('swim.fit', swim)
    await rig.fetchWanted()
    const { messages } = new Decoder(Stream.fromBuffer(swim)).read()
    const records = await rig.rows(
      'select position, hr from training.ride_records where content_id = $1 order by 1',
      [idOf(swim)],
    )
    expect(records.map(({ hr }) => hr)).toEqual(messages.recordMesgs?.map(({ heartRate }) => heartRate))
    const merged = records.filter(({ hr }) => hr !== 99)
    expect(merged.length).toBeGreaterThan(15)
    const own = await rig.rows(
      `select record as position, value from training.fit_field_values where field = 'heartRate' and content_id = $1 order by 1`,
      [idOf(swim)],
    )
    expect(own).toEqual(merged.map(({ position }) => ({ position, value: 99 })))
    const intervals = await rig.rows(
      `select interval_s, elapsed_s, t from training.ride_rr_intervals where content_id = $1 order by position, place`,
      [idOf(swim)],
    )
    expect(intervals).toEqual(
      beats.slice(1).map(([second], index) => ({
        ...{ interval_s: 0.75, elapsed_s: (index + 1) * 0.75 },
        t: new Date(Date.UTC(2026, 5, 7, 6) + second * 1_000),
      })),
    )
  })

  it('have each R-R interval once if both strap and device wrote it', async () => {
    const beats = Array.from({ length: 17 }, (_, index) => [index * 0.75 + 5.5, 120] as const)
    const both = makeSwimFit({ seconds: 30, beats, hrv: true })
    await rig.importFile('both.fit', both)
    await rig.fetchWanted()
    const intervals = await rig.rows(
      `select interval_s, floor(extract(epoch from t - min(t) over ()))::int as second from training.ride_rr_intervals
       where content_id = $1 order by t, position`,
      [idOf(both)],
    )
    const kept = intervals.filter(({ interval_s }) => interval_s === 0.75)
    expect(kept).toHaveLength(16)
    // Seconds 5 to 17 have the strap's beats.
    const received = intervals.filter(({ interval_s }) => interval_s === 1).map(({ second }) => second)
    expect(received).toEqual([0, 1, 2, 3, 4, ...Array.from({ length: 12 }, (_, index) => 18 + index)])
  })

  it('of an earlier version are missing; doctor names the command, and an upload adds them', async () => {
    const { config, store } = rig.app
    const diagnose = () =>
      findListed({ config, mirror: async () => ({ store, url: rig.databaseUrl }) }, 'fit files')
    const bytes = makeRecordedFit({ seconds: 30 })
    // Without this, the file would count as a version of a sent ride and wait for a person.
    await rig.rows('delete from training.uploads returning 1')
    await rig.importFile('given again.fit', bytes)
    expect(await diagnose()).toMatchObject([{ state: 'ok' }])
    const of = [idOf(bytes)]
    const older = [
      'delete from training.fit_records using training.fit_files f where f.file_id = fit_records.file_id and content_id = $1 returning 1',
      'update training.fit_files set reader_version = 1 where content_id = $1 returning 1',
      'delete from training.fit_originals where content_id = $1 returning 1',
    ]
    for (const statement of older.slice(0, 2)) await rig.rows(statement, of)
    expect(await diagnose()).toMatchObject([
      { state: 'warning', run: 'musette rebuild', found: expect.stringContaining('1 FIT file,') },
    ])
    await rig.rows(older[2] ?? '', of)
    expect(await diagnose()).toMatchObject([{ state: 'warning' }])
    await rig.importFile('given again.fit', bytes)
    expect(await diagnose()).toMatchObject([{ state: 'ok' }])
    await expectStored(bytes)
  })

  for (const name of sample(real, 3)) {
    it(`equal those of the real file ${name}`, async () => {
      const bytes = readFileSync(new URL(name, folder))
      const hourAgo = new Date(rig.deps.now().getTime() - 3_700_000)
      await rig.importFile(name, bytes, { restingSince: hourAgo })
      if ((await rig.rows('select from training.fit_files where content_id = $1', [idOf(bytes)])).length > 0)
        await expectStored(bytes)
    })
  }
})

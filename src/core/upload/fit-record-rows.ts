import { fitsFloat4 } from '../../kit/floats.ts'
import type { FitContents } from '../fit/fit-contents.ts'
import type { FitRecords, RecordField } from '../fit/fit-records.ts'
import type { FitValue } from '../fit/fit-values.ts'
import { FIT_EPOCH_S } from '../fit/profile.ts'
import { EVENT_TYPES, EVENTS } from '../fit/profile-names.ts'
import type { MadeRows, MessageRow, RecordColumn } from '../store/uploads/kept-fit.ts'
import { fieldsOf, nameOf, SEMICIRCLES_PER_DEGREE } from './fit-fields.ts'

/** A field of the records without a column, or values that its column cannot hold, with their record numbers. */
export type LeftField = { name: string; number: number; records: number[]; values: FitValue[] }

const isReal = (value: number) => fitsFloat4(value)
const isSmall = (value: number) => Number.isInteger(value) && Math.abs(value) < 2 ** 15
const isDouble = () => true

/** A column for a field of the profile: which numbers fit, and their conversion. */
type Simple = { field: string; fits: (value: number) => boolean; convert?: (value: number) => number }

const degrees = (semicircles: number) => semicircles / SEMICIRCLES_PER_DEGREE

/** The bit that marks a balance as the right leg's share, and the bits of the share. */
const [RIGHT, SHARE] = [0x80, 0x7f]

const SIMPLE: Readonly<Partial<Record<RecordColumn, Simple>>> = {
  lat: { field: 'positionLat', fits: isDouble, convert: degrees },
  lng: { field: 'positionLong', fits: isDouble, convert: degrees },
  distanceM: { field: 'distance', fits: isDouble },
  power: { field: 'power', fits: isReal },
  cadence: { field: 'cadence', fits: isReal },
  gradePct: { field: 'grade', fits: isReal },
  verticalSpeedMps: { field: 'verticalSpeed', fits: isReal },
  caloriesKcal: { field: 'calories', fits: isReal },
  coreTemperature: { field: 'coreTemperature', fits: isReal },
  rightPowerPct: {
    field: 'leftRightBalance',
    fits: (value) => Number.isInteger(value) && value <= 0xff && (value & RIGHT) !== 0,
    convert: (value) => value & SHARE,
  },
  leftTorqueEffectivenessPct: { field: 'leftTorqueEffectiveness', fits: isReal },
  rightTorqueEffectivenessPct: { field: 'rightTorqueEffectiveness', fits: isReal },
  leftPedalSmoothnessPct: { field: 'leftPedalSmoothness', fits: isReal },
  rightPedalSmoothnessPct: { field: 'rightPedalSmoothness', fits: isReal },
  combinedPedalSmoothnessPct: { field: 'combinedPedalSmoothness', fits: isReal },
  leftPcoMm: { field: 'leftPco', fits: isReal },
  rightPcoMm: { field: 'rightPco', fits: isReal },
  verticalOscillationMm: { field: 'verticalOscillation', fits: isReal },
  verticalRatioPct: { field: 'verticalRatio', fits: isReal },
  stanceTimeMs: { field: 'stanceTime', fits: isReal },
  stanceTimePct: { field: 'stanceTimePercent', fits: isReal },
  stanceTimeBalancePct: { field: 'stanceTimeBalance', fits: isReal },
  stepLengthMm: { field: 'stepLength', fits: isReal },
  muscleOxygenPct: { field: 'saturatedHemoglobinPercent', fits: isReal },
  totalHemoglobin: { field: 'totalHemoglobinConc', fits: isReal },
  batteryPct: { field: 'batterySoc', fits: isReal },
  altitudeM: { field: 'enhancedAltitude', fits: isReal },
  speedMps: { field: 'enhancedSpeed', fits: isReal },
  respirationRate: { field: 'enhancedRespirationRate', fits: isReal },
  hr: { field: 'heartRate', fits: isSmall },
  temperature: { field: 'temperature', fits: isSmall },
  gpsAccuracyM: { field: 'gpsAccuracy', fits: isSmall },
}

/** Less precise fields, used if a record lacks the enhanced field. */
const NARROW: ReadonlyArray<readonly [RecordColumn, string]> = [
  ['altitudeM', 'altitude'],
  ['speedMps', 'speed'],
  ['respirationRate', 'respirationRate'],
]

/** Fields with two angles, and the column of each angle. */
const PHASES: ReadonlyArray<readonly [string, RecordColumn, RecordColumn]> = [
  ['leftPowerPhase', 'leftPowerPhaseStartDeg', 'leftPowerPhaseEndDeg'],
  ['leftPowerPhasePeak', 'leftPowerPhasePeakStartDeg', 'leftPowerPhasePeakEndDeg'],
  ['rightPowerPhase', 'rightPowerPhaseStartDeg', 'rightPowerPhaseEndDeg'],
  ['rightPowerPhasePeak', 'rightPowerPhasePeakStartDeg', 'rightPowerPhasePeakEndDeg'],
]

type Columns = Partial<Record<RecordColumn, Float64Array>>

/**
 * Makes the columns of fit_records (see the comments of that table) and the remaining fields, so that every value of the file is kept.
 * Converts the numbers of `records` in place, because a day with every sensor has 40 MB of numbers.
 */
export function normalizeRecords(records: FitRecords): { columns: Columns; left: LeftField[] } {
  const { count, timesMs, fields, gears, beatsHr } = records
  const columns: Columns = {}
  const left = new Map<number, LeftField>()
  const byName = new Map([...fields.values()].map((field) => [field.name, field]))
  const columnOf = (name: RecordColumn) => {
    columns[name] ??= new Float64Array(count).fill(Number.NaN)
    return columns[name]
  }
  const leave = ({ name, number }: RecordField, row: number, value: FitValue) => {
    const field = left.get(number) ?? { name, number, records: [], values: [] }
    left.set(number, field)
    field.records.push(row + 1)
    field.values.push(value)
  }
  const leaveNumber = (field: RecordField, row: number, value: number) => {
    // If a record has several values, all of them go to the remaining fields.
    if (!field.others.has(row + 1)) leave(field, row, value)
  }
  if (timesMs.some((time) => !Number.isNaN(time))) columns.t = timesMs
  if (gears) Object.assign(columns, { frontGear: gears.front, rearGear: gears.rear })

  const done = new Set<string>()
  const take = (name: string): RecordField | undefined => {
    done.add(name)
    return byName.get(name)
  }
  for (const [column, { field: name, fits, convert }] of Object.entries(SIMPLE)) {
    const field = take(name)
    if (!field || field.numbers.length === 0) continue
    columns[column as RecordColumn] = field.numbers
    for (const [row, value] of field.numbers.entries()) {
      if (Number.isNaN(value)) continue
      const isFit = fits(value)
      if (!isFit) leaveNumber(field, row, value)
      if (!isFit || convert) field.numbers[row] = isFit && convert ? convert(value) : Number.NaN
    }
  }
  for (const [column, name] of NARROW) {
    const field = take(name)
    if (!field || field.numbers.length === 0) continue
    const target = columnOf(column)
    for (const [row, value] of field.numbers.entries()) {
      if (Number.isNaN(value) || target[row] === value) continue
      if (Number.isNaN(target[row]) && isReal(value)) target[row] = value
      else leaveNumber(field, row, value)
    }
  }
  const ownHr = take('heartRate')
  for (const [row, value] of beatsHr?.entries() ?? []) {
    if (Number.isNaN(value)) continue
    const hr = columnOf('hr')
    const own = hr[row] ?? Number.NaN
    if (ownHr && !Number.isNaN(own) && own !== value) leaveNumber(ownHr, row, own)
    hr[row] = value
  }
  const fraction = take('fractionalCadence')
  for (const [row, value] of fraction?.numbers.entries() ?? []) {
    if (Number.isNaN(value) || !fraction) continue
    const cadence = columns.cadence?.[row] ?? Number.NaN
    if (Number.isNaN(cadence)) leaveNumber(fraction, row, value)
    else columnOf('cadence')[row] = cadence + value
  }
  for (const [name, start, end] of PHASES) {
    const field = byName.get(name)
    if (field?.pairs) Object.assign(columns, { [start]: field.pairs[0], [end]: field.pairs[1] })
  }
  expandCompressed(byName.get('compressedSpeedDistance'), columnOf)
  for (const field of fields.values()) {
    const { name, numbers, pairs, others } = field
    for (const [record, value] of others) leave(field, record - 1, value)
    if (!done.has(name))
      for (const [row, value] of numbers.entries()) if (!Number.isNaN(value)) leaveNumber(field, row, value)
    if (!pairs || PHASES.some(([phase]) => phase === name)) continue
    for (const [row, first] of pairs[0].entries()) {
      const pair = [first, pairs[1][row] ?? Number.NaN].map((one) => (Number.isNaN(one) ? null : one))
      if (pair.some((one) => one !== null)) leave(field, row, pair)
    }
  }
  return { columns, left: [...left.values()].map(inOrder) }
}

function inOrder({ records, values, ...field }: LeftField): LeftField {
  const places = [...records.keys()].sort((a, b) => (records[a] ?? 0) - (records[b] ?? 0))
  const sorted = <T>(all: readonly T[]) => places.map((place) => all[place] as T)
  return { ...field, records: sorted(records), values: sorted(values) }
}

/** Unpacks speed and distance, which old devices pack into three bytes: 12 bits of cm/s, and 12 bits of 1/16 m that restart after 256 m. */
function expandCompressed(field: RecordField | undefined, columnOf: (name: RecordColumn) => Float64Array) {
  let sixteenths = 0
  for (const [record, value] of field?.others ?? []) {
    if (!Array.isArray(value) || value.length !== 3) continue
    const [low, middle, high] = value.map(Number) as [number, number, number]
    const speed = columnOf('speedMps')
    const distance = columnOf('distanceM')
    sixteenths += ((middle >> 4) + (high << 4) - sixteenths) & 0xfff
    if (Number.isNaN(speed[record - 1])) speed[record - 1] = (low + ((middle & 0xf) << 8)) / 100
    if (Number.isNaN(distance[record - 1])) distance[record - 1] = sixteenths / 16
  }
}

/** Makes the rows of fit_messages (see the comments of that table). Pure. */
export function normalizeMessages({ others, records }: FitContents): MadeRows<MessageRow> {
  return makeRows(others, (other) => {
    const { name, time, record, fields } = other
    const [event, eventType] =
      name === 'event' ? [nameOf(EVENTS, fields.event), nameOf(EVENT_TYPES, fields.eventType)] : [null, null]
    const t = time === null ? (records.timesMs[record - 1] ?? Number.NaN) : (time + FIT_EPOCH_S) * 1_000
    return { record, t, message: name, event, eventType, fields: fieldsOf(other) as MessageRow['fields'] }
  })
}

/** Makes each row only when it is read. */
export function makeRows<Item, Row>(items: readonly Item[], make: (item: Item, index: number) => Row) {
  return {
    length: items.length,
    *[Symbol.iterator]() {
      for (const [index, item] of items.entries()) yield make(item, index)
    },
  }
}

import { isPosition } from '../../kit/floats.ts'
import type { DescribedField, FitContents, FitMessageFields } from '../fit/fit-contents.ts'
import type { FitFields } from '../fit/fit-values.ts'
import { FIT_EPOCH_S, RECORD, SPORTS } from '../fit/profile.ts'
import { MESSAGES } from '../fit/profile-fields.ts'
import {
  ANT_DEVICE_TYPES,
  BATTERY_STATUSES,
  BLE_DEVICE_TYPES,
  GARMIN_PRODUCTS,
  INTENSITIES,
  LAP_TRIGGERS,
  LOCAL_DEVICE_TYPES,
  MANUFACTURERS,
  SOURCE_TYPES,
  SUB_SPORTS,
} from '../fit/profile-names.ts'
import { FIT_READER_VERSION, type FitRows } from '../store/uploads/kept-fit.ts'
import {
  fieldsOf,
  hexOf,
  integerOf,
  MAX_INTEGER,
  momentOf,
  nameOf,
  numberOf,
  SEMICIRCLES_PER_DEGREE,
  textOf,
} from './fit-fields.ts'
import { type LeftField, makeRows, normalizeMessages, normalizeRecords } from './fit-record-rows.ts'

/** Makers whose products are in Garmin's list. */
const GARMIN_MAKERS = ['garmin', 'dynastreamOem', 'dynastream', 'tacx']
/** The bit that marks a balance as the right leg's share, and the bits of that share in hundredths of a percent. */
const RIGHT = 0x8000
const SHARE = 0x3fff

/** Makes the rows of a FIT file for the tables fit_files to fit_messages. Pure. */
export function normalizeFit(contents: FitContents, input: { sizeBytes: number; readAt: Date }): FitRows {
  const { parts, records, startedAt, endedAt, head, problem } = contents
  const { fileId = {} } = head
  const { columns, left } = normalizeRecords(records)
  return {
    file: {
      ...productOf(fileId),
      serialNumber: numberOf(fileId.serialNumber),
      createdAt: momentOf(fileId.timeCreated),
      ...{ startedAt, endedAt, parts, records: records.count, problem },
      readerVersion: FIT_READER_VERSION,
      ...meansOf(columns),
      ...startOf(columns),
      utcOffsetS: utcOffsetOf(head.activity ?? {}),
      fields: head,
      ...input,
    },
    sessions: contents.sessions.map((message, index) => ({ position: index + 1, ...sumOf(message) })),
    laps: contents.laps.map((message, index) => ({
      position: index + 1,
      ...sumOf(message),
      trigger: nameOf(LAP_TRIGGERS, message.fields.lapTrigger),
      intensity: nameOf(INTENSITIES, message.fields.intensity),
    })),
    devices: devicesOf(contents.devices),
    fields: makeRows([...contents.described, ...left], (field, index) => {
      const named = 'name' in field ? leftOf(field) : describedOf(field)
      return { position: index + 1, ...named, ...valuesOf(field, contents) }
    }),
    records: { count: records.count, columns },
    messages: normalizeMessages(contents),
  }
}

/** Computes the means of a whole file, see the comments of fit_files. */
function meansOf({ temperature, rightPowerPct, power }: ReturnType<typeof normalizeRecords>['columns']) {
  const degrees = [...(temperature ?? [])].filter((value) => !Number.isNaN(value))
  const shares = [...(rightPowerPct ?? [])].filter(
    (value, row) => !Number.isNaN(value) && (power?.[row] ?? 0) > 0,
  )
  const mean = (values: readonly number[]) =>
    values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : null
  const extreme = (of: (a: number, b: number) => number) => (degrees.length > 0 ? degrees.reduce(of) : null)
  return {
    minTemperature: extreme((a, b) => Math.min(a, b)),
    avgTemperature: mean(degrees),
    maxTemperature: extreme((a, b) => Math.max(a, b)),
    rightPowerPct: mean(shares),
  }
}

function startOf({ lat, lng }: ReturnType<typeof normalizeRecords>['columns']) {
  const first = lat?.findIndex((value, row) => isPosition(value, lng?.[row] ?? Number.NaN)) ?? -1
  return { startLat: lat?.[first] ?? null, startLng: lng?.[first] ?? null }
}

const QUARTER_S = 15 * 60
/** Maximum error of an offset computed from the two times, s: devices write both within a second at the end of a recording. */
const APART_S = 60
/** Offsets of all time zones lie within these limits. */
const [MIN_OFFSET_S, MAX_OFFSET_S] = [-12 * 3_600, 14 * 3_600]

/**
 * Computes the device's offset from UTC, s, from the two times of its activity message. Returns null if a time is missing, if the difference
 * is not an offset of a time zone, or if both are equal: devices without a time zone write UTC twice.
 */
function utcOffsetOf({ timestamp, localTimestamp }: FitFields): number | null {
  const [at, local] = [momentOf(timestamp), numberOf(localTimestamp)]
  if (at === null || local === null) return null
  const apart = local + FIT_EPOCH_S - at.getTime() / 1_000
  const offset = Math.round(apart / QUARTER_S) * QUARTER_S
  const isZone = Math.abs(apart - offset) <= APART_S && offset >= MIN_OFFSET_S && offset <= MAX_OFFSET_S
  return isZone && offset !== 0 ? offset : null
}

function sumOf(message: FitMessageFields) {
  const { fields } = message
  const first = (...names: string[]) =>
    names.map((name) => numberOf(fields[name])).find((value) => value !== null) ?? null
  // The whole number and the fraction are in two fields.
  const withFraction = (name: string, fraction: string) => {
    const whole = first(name)
    return whole === null ? null : whole + (first(fraction) ?? 0)
  }
  const degrees = (name: string) => {
    const value = first(name)
    return value === null ? null : value / SEMICIRCLES_PER_DEGREE
  }
  const balance = first('leftRightBalance')
  return {
    startedAt: momentOf(fields.startTime),
    endedAt: momentOf(fields.timestamp),
    sport: nameOf(SPORTS, fields.sport),
    subSport: nameOf(SUB_SPORTS, fields.subSport),
    elapsedS: first('totalElapsedTime'),
    timerS: first('totalTimerTime'),
    movingS: first('totalMovingTime'),
    distanceM: first('totalDistance'),
    workJ: first('totalWork'),
    caloriesKcal: first('totalCalories'),
    ascentM: withFraction('totalAscent', 'totalFractionalAscent'),
    descentM: withFraction('totalDescent', 'totalFractionalDescent'),
    avgPower: first('avgPower'),
    maxPower: first('maxPower'),
    weightedPower: first('normalizedPower'),
    rightPowerPct: balance !== null && (balance & RIGHT) !== 0 ? (balance & SHARE) / 100 : null,
    avgHr: first('avgHeartRate'),
    maxHr: first('maxHeartRate'),
    minHr: first('minHeartRate'),
    avgCadence: withFraction('avgCadence', 'avgFractionalCadence'),
    maxCadence: withFraction('maxCadence', 'maxFractionalCadence'),
    avgSpeedMps: first('enhancedAvgSpeed', 'avgSpeed'),
    maxSpeedMps: first('enhancedMaxSpeed', 'maxSpeed'),
    avgTemperature: first('avgTemperature'),
    maxTemperature: first('maxTemperature'),
    startLat: degrees('startPositionLat'),
    startLng: degrees('startPositionLong'),
    endLat: degrees('endPositionLat'),
    endLng: degrees('endPositionLong'),
    fields: fieldsOf(message),
  }
}

/**
 * Merges the messages of each device: those with the same index and serial number. A message without a serial number belongs to the latest
 * device with its index. The last value of a field counts, because a battery drains.
 */
function devicesOf(messages: readonly FitMessageFields[]): FitRows['devices'] {
  const devices: { fields: FitFields; developerFields: FitFields; times: string[]; messages: number }[] = []
  const latest = new Map<number | null, (typeof devices)[number]>()
  for (const { fields, developerFields } of messages) {
    const [deviceIndex, serialNumber] = [numberOf(fields.deviceIndex), numberOf(fields.serialNumber)]
    const timestamp = textOf(fields.timestamp)
    const isIts = (device: (typeof devices)[number]) =>
      numberOf(device.fields.deviceIndex) === deviceIndex &&
      [null, serialNumber].includes(numberOf(device.fields.serialNumber))
    let device = serialNumber === null ? latest.get(deviceIndex) : devices.find(isIts)
    if (!device) {
      device = { fields: {}, developerFields: {}, times: [], messages: 0 }
      devices.push(device)
    }
    latest.set(deviceIndex, device)
    device.fields = { ...device.fields, ...fields }
    device.developerFields = { ...device.developerFields, ...developerFields }
    device.messages += 1
    if (timestamp !== null) device.times.push(timestamp)
  }
  return devices.map(({ times, messages: count, ...device }, index) => {
    const { fields } = device
    const ordered = times.sort()
    return {
      position: index + 1,
      deviceIndex: integerOf(fields.deviceIndex),
      kind: kindOf(fields),
      ...productOf(fields),
      serialNumber: numberOf(fields.serialNumber),
      softwareVersion: numberOf(fields.softwareVersion),
      hardwareVersion: integerOf(fields.hardwareVersion),
      batteryVoltage: numberOf(fields.batteryVoltage),
      batteryStatus: nameOf(BATTERY_STATUSES, fields.batteryStatus),
      batteryLevelPct: integerOf(fields.batteryLevel),
      operatingS: numberOf(fields.cumOperatingTime),
      connection: nameOf(SOURCE_TYPES, fields.sourceType),
      firstAt: momentOf(ordered[0]),
      lastAt: momentOf(ordered.at(-1)),
      messages: count,
      fields: fieldsOf(device),
    }
  })
}

/** The number of a kind depends on the type of connection. */
function kindOf({ deviceType, sourceType }: FitFields): string | null {
  const connection = nameOf(SOURCE_TYPES, sourceType)
  if (connection === 'local') return nameOf(LOCAL_DEVICE_TYPES, deviceType)
  if (connection === 'bluetoothLowEnergy') return nameOf(BLE_DEVICE_TYPES, deviceType)
  return nameOf(ANT_DEVICE_TYPES, deviceType)
}

function productOf(fields: FitFields) {
  const manufacturer = nameOf(MANUFACTURERS, fields.manufacturer)
  const product = numberOf(fields.product)
  const isGarmin = manufacturer !== null && GARMIN_MAKERS.includes(manufacturer)
  const known = isGarmin && product !== null ? GARMIN_PRODUCTS.get(product) : undefined
  return {
    manufacturer,
    product: textOf(fields.productName) ?? known ?? null,
    productNumber: integerOf(fields.product),
  }
}

function describedOf({ developer, number, fields, app }: DescribedField) {
  const message = MESSAGES.get(numberOf(fields.nativeMesgNum) ?? -1)
  const native = message?.fields.get(numberOf(fields.nativeFieldNum) ?? -1)
  return {
    name: textOf(fields.fieldName),
    units: textOf(fields.units),
    applicationId: hexOf(app?.applicationId),
    developerIndex: developer,
    fieldNumber: number,
    nativeField: message && native ? `${message.name}.${native.name}` : null,
    fields: app ? { ...fields, app } : fields,
  }
}

function leftOf({ name, number }: LeftField) {
  const isKnown = MESSAGES.get(RECORD.message)?.fields.has(number) ?? false
  const nativeField = isKnown ? `${MESSAGES.get(RECORD.message)?.name}.${name}` : null
  return { name, fieldNumber: number, nativeField, developerIndex: null, fields: {} }
}

/** Returns the values of a records' field in the form of fit_fields. */
function valuesOf(
  { records, values }: Pick<LeftField, 'records' | 'values'>,
  { records: all, startedAt }: FitContents,
) {
  const start = startedAt?.getTime() ?? 0
  const inEach = records.length === all.count && records.every((record, index) => record === index + 1)
  const others = values.flatMap((value, index) =>
    typeof value === 'number' ? [] : [[String(index + 1), value]],
  )
  return {
    count: values.length,
    offsetsS: records.map((record) => {
      const offset = ((all.timesMs[record - 1] ?? Number.NaN) - start) / 1_000
      return Math.abs(offset) <= MAX_INTEGER ? offset : null
    }),
    values: values.map((value) => (typeof value === 'number' ? value : null)),
    records: inEach ? null : records,
    others: others.length > 0 ? Object.fromEntries(others) : null,
  }
}

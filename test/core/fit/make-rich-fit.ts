import { Encoder, Profile } from '@garmin/fitsdk'

const T0 = Date.UTC(2026, 2, 11, 16)
const at = (seconds: number) => new Date(T0 + seconds * 1_000)

/**
 * Makes a FIT activity with the messages that real head units write besides records: four laps, two sessions, five devices (one loses
 * battery, one is replaced), and four developer fields of two apps in records, laps and session. The same input gives the same bytes.
 */
export function makeRichFit(input: { seconds?: number } = {}): Buffer {
  const seconds = input.seconds ?? 120
  const nativePower = { nativeMesgNum: 20, nativeFieldNum: 7 }
  const described = [
    describe(0, 0, { fieldName: 'core_temperature', units: '°C', fitBaseTypeId: 0x88 }),
    describe(0, 1, { fieldName: 'Power', units: 'Watts', fitBaseTypeId: 0x84, ...nativePower }),
    describe(1, 0, { fieldName: 'note', units: '', fitBaseTypeId: 0x07 }),
    describe(1, 1, { fieldName: 'lap_score', units: 'points', fitBaseTypeId: 0x86 }),
  ]
  const { write, close } = openEncoder(described)
  const { MesgNum } = Profile
  const made = { manufacturer: 'garmin', product: 3121, serialNumber: 3_999_999_999, timeCreated: at(-3) }
  write(MesgNum.FILE_ID, { type: 'activity', ...made })
  write(MesgNum.FILE_CREATOR, { softwareVersion: 1_840, hardwareVersion: 7 })
  write(MesgNum.DEVELOPER_DATA_ID, makeApp(0))
  write(MesgNum.DEVELOPER_DATA_ID, makeApp(1))
  for (const description of described) write(MesgNum.FIELD_DESCRIPTION, description)
  writeDevices((message) => write(MesgNum.DEVICE_INFO, message))
  for (let i = 0; i < seconds; i++) {
    // The core temperature sensor measures every fifth second.
    const developerFields = { ...(i % 5 === 0 && { 0: 37 + i / 1_000 }), 1: 200 + (i % 7) }
    write(MesgNum.RECORD, { timestamp: at(i), heartRate: 120 + (i % 30), power: 190, developerFields })
  }
  const quarter = seconds / 4
  for (let lap = 0; lap < 4; lap++) writeLap((message) => write(MesgNum.LAP, message), lap, quarter)
  const half = seconds / 2
  for (const [index, sport] of ['cycling', 'running'].entries()) {
    write(MesgNum.SESSION, {
      ...{ messageIndex: index, timestamp: at((index + 1) * half), startTime: at(index * half), sport },
      ...{ subSport: index === 0 ? 'gravelCycling' : 'trail', sportProfileName: 'Gravel früh' },
      ...{ totalElapsedTime: half, totalTimerTime: half - 2.5, totalDistance: 1_234.56 },
      ...{ firstLapIndex: index * 2, numLaps: 2, timeInPowerZone: [1.5, 2.25, 0.125] },
      ...{ avgAltitude: 412.4, minAltitude: -20, leftRightBalance: 0x8000 | 4_950 },
      developerFields: { 1: 203 },
    })
  }
  const sum = { timestamp: at(seconds), totalTimerTime: seconds - 5, numSessions: 2, type: 'manual' }
  write(MesgNum.ACTIVITY, sum)
  return close()
}

/** Opens an encoder that knows the developer fields by their index in `described`. */
export function openEncoder(
  described: ReadonlyArray<ReturnType<typeof describe>> = [],
  appOf: (developerDataIndex: number) => object = makeApp,
) {
  const fields = described.map((field, key) => {
    return [key, { developerDataIdMesg: appOf(field.developerDataIndex), fieldDescriptionMesg: field }]
  })
  const encoder = new Encoder({ fieldDescriptions: Object.fromEntries(fields) })
  const write = (number: unknown, message: Record<string, unknown>) =>
    encoder.onMesg(Number(number), message as never)
  return { write, close: () => Buffer.from(encoder.close()) }
}

export type Write = ReturnType<typeof openEncoder>['write']

function makeApp(developerDataIndex: number) {
  const applicationId = Array.from({ length: 16 }, (_, byte) => byte * 7 + developerDataIndex)
  return { applicationId, developerDataIndex, applicationVersion: 12 + developerDataIndex }
}

export function describe(
  developerDataIndex: number,
  fieldDefinitionNumber: number,
  more: Record<string, unknown>,
) {
  return { developerDataIndex, fieldDefinitionNumber, ...more }
}

function writeDevices(write: (message: Record<string, unknown>) => void): void {
  const unit = { deviceIndex: 0, manufacturer: 'garmin', product: 3121, serialNumber: 3_999_999_999 }
  write({ timestamp: at(0), ...unit, sourceType: 'local', softwareVersion: 18.4 })
  const meter = {
    ...{ deviceIndex: 1, deviceType: 11, sourceType: 'antplus', manufacturer: 'quarq', product: 7 },
    serialNumber: 4_711,
  }
  const good = { batteryVoltage: 2.984_375, batteryStatus: 'good', cumOperatingTime: 36_000 }
  write({ timestamp: at(1), ...meter, ...good })
  const strap = { deviceIndex: 2, deviceType: 1, sourceType: 'bluetoothLowEnergy' }
  write({ timestamp: at(1), ...strap, manufacturer: 'wahooFitness', serialNumber: 12, batteryLevel: 80 })
  const prototype = { manufacturer: 60_000, productName: 'Prototype ß' }
  write({ timestamp: at(2), deviceIndex: 3, deviceType: 99, sourceType: 'antplus', ...prototype })
  write({ timestamp: at(90), ...meter, batteryVoltage: 2.5, batteryStatus: 'low' })
  write({ timestamp: at(95), ...strap, serialNumber: 13, batteryLevel: 100 })
}

function writeLap(write: (message: Record<string, unknown>) => void, lap: number, length: number): void {
  write({
    ...{
      messageIndex: lap,
      timestamp: at((lap + 1) * length),
      startTime: at(lap * length),
      sport: 'cycling',
    },
    ...{ startPositionLat: 571_230_000 + lap, startPositionLong: -95_120_000 },
    ...{ endPositionLat: 571_240_000, endPositionLong: 95_130_000, totalDistance: 302.17 },
    ...{ totalElapsedTime: length + 0.125, totalTimerTime: length, totalMovingTime: length - 1 },
    ...{ totalCalories: 9, totalWork: 5_700, totalAscent: 3, totalDescent: 4 },
    ...{ avgTemperature: -3, maxTemperature: 2, avgPower: 190, maxPower: 402, normalizedPower: 221 },
    ...{ avgHeartRate: 131, maxHeartRate: 149, minHeartRate: 90, avgCadence: 88, maxCadence: 104 },
    ...{ avgSpeed: 9.123, enhancedAvgSpeed: 9.124, maxSpeed: 14.5, avgGrade: -1.25 },
    ...{ lapTrigger: lap === 3 ? 'sessionEnd' : 'manual', intensity: lap === 0 ? 'warmup' : 'active' },
    ...{ avgLeftPowerPhase: [12.5, 200], avgFractionalCadence: 0.5 },
    developerFields: { 2: `lap ${lap + 1}`, 3: 1_000 + lap },
  })
}

import { Profile } from '@garmin/fitsdk'
import { describe, openEncoder, type Write } from './make-rich-fit.ts'

const T0 = Date.UTC(2026, 4, 2, 7)
const at = (seconds: number) => new Date(T0 + seconds * 1_000)
const { MesgNum } = Profile

/**
 * Makes a FIT activity of a bike ride with sensor data in records and other messages: all columns of fit_records except those of a runner,
 * gear changes, R-R intervals, time in zones, user profile, two pool lengths, and developer fields that are a number, a list and a text.
 * Some records lack some of the data. The same input gives the same bytes.
 */
export function makeRecordedFit(input: { seconds?: number } = {}): Buffer {
  const seconds = input.seconds ?? 60
  const described = [
    describe(0, 0, { fieldName: 'CIQ core temperature', units: '°C', fitBaseTypeId: 0x88 }),
    describe(0, 1, { fieldName: 'leg spring', units: 'kN/m', fitBaseTypeId: 0x88, array: 3 }),
    describe(0, 2, { fieldName: 'surface', units: '', fitBaseTypeId: 0x07 }),
  ]
  const { write, close } = openEncoder(described, () => APP)
  write(MesgNum.FILE_ID, { type: 'activity', manufacturer: 'garmin', product: 3121, timeCreated: at(-3) })
  write(MesgNum.DEVELOPER_DATA_ID, APP)
  for (const description of described) write(MesgNum.FIELD_DESCRIPTION, description)
  write(MesgNum.USER_PROFILE, {
    ...{ gender: 'female', age: 41, height: 1.71, weight: 62.4, restingHeartRate: 44 },
    ...{ defaultMaxHeartRate: 181, defaultMaxBikingHeartRate: 178, friendlyName: 'Rider' },
  })
  write(MesgNum.EVENT, { timestamp: at(0), event: 'timer', eventType: 'start', data: 0 })
  for (let i = 0; i < seconds; i++) {
    if (i === 10) writeGear(write, i, { event: 'rearGearChange', front: [2, 50], rear: [3, 19] })
    if (i === 20) writeGear(write, i, { event: 'frontGearChange', front: [1, 34], rear: [3, 19] })
    write(MesgNum.RECORD, { timestamp: at(i), ...sensorsAt(i), developerFields: appAt(i) })
    if (i % 2 === 0) write(MesgNum.HRV, { time: [0.512 + i / 1_000, 0.498, 65.535, 65.535, 65.535] })
  }
  writeEnd(write, seconds)
  return close()
}

const APP = {
  applicationId: Array.from({ length: 16 }, (_, byte) => byte * 3),
  developerDataIndex: 0,
  applicationVersion: 4,
}

function appAt(i: number): Record<string, unknown> {
  return {
    ...(i % 5 === 0 && { 0: 37 + i / 1_000 }),
    ...(i % 7 === 0 && { 1: [8.5, 9.25, i] }),
    ...(i % 11 === 0 && { 2: i % 2 === 0 ? 'asphalt' : 'gravel' }),
  }
}

function sensorsAt(i: number): Record<string, unknown> {
  const position = { positionLat: 571_230_000 + i * 97, positionLong: -95_120_000 - i * 103, gpsAccuracy: 3 }
  const pedals = {
    ...{ leftRightBalance: i % 13 === 0 ? 48 : 0x80 | (47 + (i % 5)) },
    ...{ leftTorqueEffectiveness: 71.5, rightTorqueEffectiveness: 74, leftPedalSmoothness: 21.5 },
    ...{ rightPedalSmoothness: 23, combinedPedalSmoothness: 22.5, leftPco: -4, rightPco: 6 },
    ...{ leftPowerPhase: [12.656_25, 200.390_62], leftPowerPhasePeak: [60.468_75, 122.343_75] },
    ...{ rightPowerPhase: [9.843_75, 201.796_87], rightPowerPhasePeak: [63.281_25, 123.75] },
  }
  const air = { temperature: -4 + (i % 20), enhancedRespirationRate: 18.25 + (i % 3), respirationRate: 18 }
  return {
    ...(i % 17 !== 3 && position),
    ...{ altitude: 412.4 - i / 5, enhancedAltitude: 412.4 - i / 5, speed: 9.123, enhancedSpeed: 9.124 },
    ...{ distance: 170_000.12 + i * 9.12, grade: -1.25, verticalSpeed: -0.214, calories: 120 + i },
    ...(i % 4 !== 1 && { power: 180 + ((i * 37) % 90), accumulatedPower: 70_000 + i * 200 }),
    ...{ heartRate: 120 + (i % 30), cadence: 88, fractionalCadence: 0.5 },
    ...pedals,
    ...(i > 4 && air),
    ...{ saturatedHemoglobinPercent: 61.3, totalHemoglobinConc: 12.34, batterySoc: 81.5 },
    ...(i % 9 === 0 && { coreTemperature: 37.21, absolutePressure: 95_123 + i }),
    ...(i % 6 === 0 && { speed1s: [9.125, 9.0625] }),
  }
}

type Gear = { event: string; front: [number: number, teeth: number]; rear: [number: number, teeth: number] }

function writeGear(write: Write, i: number, { event, front, rear }: Gear): void {
  const data = rear[0] + rear[1] * 2 ** 8 + front[0] * 2 ** 16 + front[1] * 2 ** 24
  write(MesgNum.EVENT, { timestamp: at(i), event, eventType: 'marker', data })
}

function writeEnd(write: Write, seconds: number): void {
  for (const [index, swimStroke] of ['freestyle', 'breaststroke'].entries())
    write(MesgNum.LENGTH, {
      ...{ messageIndex: index, timestamp: at(seconds), startTime: at(index * 30), lengthType: 'active' },
      ...{ totalElapsedTime: 30.5, totalTimerTime: 30, totalStrokes: 14 + index, avgSpeed: 0.82, swimStroke },
      avgSwimmingCadence: 28,
    })
  const zones = { timeInHrZone: [1.5, 50, 8.5], timeInPowerZone: [0, 12.25, 30, 17.75] }
  const whole = { timestamp: at(seconds), referenceMesg: 'session', referenceIndex: 0 }
  write(MesgNum.TIME_IN_ZONE, { ...whole, ...zones })
  write(MesgNum.EVENT, { timestamp: at(seconds), event: 'timer', eventType: 'stopAll', data: 0 })
  const sum = {
    ...{ timestamp: at(seconds), startTime: at(0), totalElapsedTime: seconds, totalTimerTime: seconds },
    ...{ sport: 'cycling', messageIndex: 0 },
  }
  write(MesgNum.LAP, sum)
  write(MesgNum.SESSION, { ...sum, firstLapIndex: 0, numLaps: 1 })
  write(MesgNum.ACTIVITY, { timestamp: at(seconds), totalTimerTime: seconds, numSessions: 1, type: 'manual' })
}

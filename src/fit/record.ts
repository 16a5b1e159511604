import type { RecordMesg } from '@garmin/fitsdk'

/** One moment of a FIT activity; null where the device wrote nothing. Degrees, metres, m/s, watts, beats and turns a minute. */
export type FitRecord = {
  timeMs: number
  power: number | null
  hr: number | null
  cad: number | null
  speed: number | null
  distance: number | null
  altitude: number | null
  lat: number | null
  lng: number | null
}

/** FIT positions are signed 32-bit parts of a half turn. */
const DEGREES_PER_SEMICIRCLE = 180 / 2 ** 31

/** Reads one record message; undefined when it has no time. The enhanced fields win over the narrow ones. */
export function readFitRecord(record: RecordMesg): FitRecord | undefined {
  const time = record.timestamp
  if (!(time instanceof Date) || Number.isNaN(time.getTime())) return undefined
  return {
    timeMs: time.getTime(),
    power: numberOf(record.power),
    hr: numberOf(record.heartRate),
    cad: numberOf(record.cadence),
    speed: numberOf(record.enhancedSpeed) ?? numberOf(record.speed),
    distance: numberOf(record.distance),
    altitude: numberOf(record.enhancedAltitude) ?? numberOf(record.altitude),
    lat: degrees(record.positionLat),
    lng: degrees(record.positionLong),
  }
}

/** Odd files hold arrays or text where the profile says number: the first number counts, the rest is nothing. */
function numberOf(value: unknown): number | null {
  const single: unknown = Array.isArray(value) ? value[0] : value
  return typeof single === 'number' && Number.isFinite(single) ? single : null
}

function degrees(semicircles: unknown): number | null {
  const value = numberOf(semicircles)
  return value === null ? null : value * DEGREES_PER_SEMICIRCLE
}

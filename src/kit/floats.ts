/** Reports whether any of the first `count` numbers is known. NaN means unknown. */
export function hasValue(values: Float64Array, count: number): boolean {
  for (let index = 0; index < count; index++) if (!Number.isNaN(values[index])) return true
  return false
}

/** Halfway between the largest float4 and the next power of two. This number and larger ones round to infinity. */
export const FLOAT4_LIMIT = 2 ** 128 - 2 ** 103

/** Reports whether a number is finite as a float4; false for NaN. */
export function fitsFloat4(value: number): boolean {
  return Math.abs(value) < FLOAT4_LIMIT
}

/** Parses a decimal number in JSON syntax, also with a plus sign or without digits on one side of the point. Returns NaN for any other string. */
export function parseDecimal(text: string): number {
  return /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text) ? Number(text) : Number.NaN
}

/** Range of moments, ms since 1970: `timestamptz` starts in 4713 BC, JavaScript dates end in the year 275760. */
const FIRST_MS = -210_866_803_200_000
const LAST_MS = 8_640_000_000_000_000

/** Reports whether a time, ms since 1970, fits both `timestamptz` and a JavaScript date. */
export function fitsTimestamp(ms: number): boolean {
  return ms >= FIRST_MS && ms <= LAST_MS
}

/** Reports whether a latitude and a longitude, in degrees, are a place. 0, 0 is not a place, because devices write 0, 0 if they have no position. */
export function isPosition(lat: number, lng: number): boolean {
  return Math.abs(lat) <= 90 && Math.abs(lng) <= 180 && (lat !== 0 || lng !== 0)
}

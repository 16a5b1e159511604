/** Tells whether any of the first `count` numbers is known; NaN means unknown. */
export function hasValue(values: Float64Array, count: number): boolean {
  for (let index = 0; index < count; index++) if (!Number.isNaN(values[index])) return true
  return false
}

/** Halfway between the largest float4 and the next power of two: from here on rounding gives infinity. */
export const FLOAT4_LIMIT = 2 ** 128 - 2 ** 103

/** Tells whether a number is finite as a float4; NaN is not. */
export function fitsFloat4(value: number): boolean {
  return Math.abs(value) < FLOAT4_LIMIT
}

/** Parses a decimal number in the syntax of JSON, also with a plus sign or a bare point; NaN for any other text. */
export function parseDecimal(text: string): number {
  return /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text) ? Number(text) : Number.NaN
}

/** The range of a `timestamptz` begins in 4713 BC; the range of a JavaScript date ends in the year 275760. */
const FIRST_MS = -210_866_803_200_000
const LAST_MS = 8_640_000_000_000_000

/** Tells whether a time, ms since 1970, is in the range of `timestamptz` and of a JavaScript date. */
export function fitsTimestamp(ms: number): boolean {
  return ms >= FIRST_MS && ms <= LAST_MS
}

/** Tells whether a latitude and a longitude, degrees, are a place on earth. Exactly 0, 0 is not: devices write it without a position. */
export function isPosition(lat: number, lng: number): boolean {
  return Math.abs(lat) <= 90 && Math.abs(lng) <= 180 && (lat !== 0 || lng !== 0)
}

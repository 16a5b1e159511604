/** Whether any of the first `count` numbers is one: NaN stands for what is not known. */
export function hasValue(values: Float64Array, count: number): boolean {
  for (let index = 0; index < count; index++) if (!Number.isNaN(values[index])) return true
  return false
}

/** Halfway between the largest float4 and the next power of two: from here on rounding gives an infinity. */
const FLOAT4_LIMIT = 2 ** 128 - 2 ** 103

/** Whether a number can be a float4: no infinity, and not so large that it would become one. */
export function fitsFloat4(value: number): boolean {
  return Math.abs(value) < FLOAT4_LIMIT
}

/** Reads a decimal number as JSON writes it, with a plus sign or a bare point too; NaN for any other text. */
export function parseDecimal(text: string): number {
  return /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text) ? Number(text) : Number.NaN
}

/** What a `timestamptz` can hold begins in 4713 BC; a JavaScript date ends in the year 275760. */
const FIRST_MS = -210_866_803_200_000
const LAST_MS = 8_640_000_000_000_000

/** Whether a time, ms since 1970, can be a `timestamptz`. */
export function fitsTimestamp(ms: number): boolean {
  return ms >= FIRST_MS && ms <= LAST_MS
}

const MINUS: u32 = 0x2d
const POINT: u32 = 0x2e
const ZERO: u32 = 0x30
const UPPER_E: u32 = 0x45
const LOWER_E: u32 = 0x65

/** Returned instead of an address if there is no number, or if `readNumber` cannot read the number. */
export const NO_NUMBER: usize = 0

/** Maximum number of digits: any whole number with this many digits fits 64 bits. */
const MAX_DIGITS: u32 = 19
const MAX_DECIMALS: u32 = 22
/** Bits of a double's mantissa after the leading one. */
const MANTISSA_BITS = 52
const MANTISSA: u64 = (1 << MANTISSA_BITS) - 1
const EXPONENT_BIAS = 1023
/** Whole numbers of at least this size may have no exact double. */
const FIRST_INEXACT: u64 = 1 << 53

const POWERS_OF_TEN = memory.data<u64>([
  1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000,
  100_000_000_000, 1_000_000_000_000, 10_000_000_000_000, 100_000_000_000_000, 1_000_000_000_000_000,
  10_000_000_000_000_000, 100_000_000_000_000_000, 1_000_000_000_000_000_000, 10_000_000_000_000_000_000,
])
/** Powers of five up to 5^22; a double holds each exactly. */
const POWERS_OF_FIVE = memory.data<u64>([
  1, 5, 25, 125, 625, 3_125, 15_625, 78_125, 390_625, 1_953_125, 9_765_625, 48_828_125, 244_140_625,
  1_220_703_125, 6_103_515_625, 30_517_578_125, 152_587_890_625, 762_939_453_125, 3_814_697_265_625,
  19_073_486_328_125, 95_367_431_640_625, 476_837_158_203_125, 2_384_185_791_015_625,
])

/** A 1 in every byte of a word, in every second byte, and in every fourth byte. */
const BYTES: u64 = u64.MAX_VALUE / 0xff
const PAIRS: u64 = u64.MAX_VALUE / 0xffff
const FOURS: u64 = u64.MAX_VALUE / 0xffffffff

/** The digits of a number read so far, as one whole number. */
let digits: u64 = 0

/**
 * Reads a number of up to 19 digits, equal to the result of JSON.parse in every bit, and stores it at `target`. Returns the address after it;
 * NO_NUMBER for anything else, including an exponent or more than 22 decimals.
 */
export function readNumber(start: usize, target: usize): usize {
  const negative = load<u8>(start) === MINUS
  const first = negative ? start + 1 : start
  digits = 0
  let at = readDigits(first)
  if (at === first || (load<u8>(first) === ZERO && at > first + 1)) return NO_NUMBER
  let decimals: u32 = 0
  if (load<u8>(at) === POINT) {
    const point = at + 1
    at = readDigits(point)
    decimals = <u32>(at - point)
    if (decimals === 0 || decimals > MAX_DECIMALS) return NO_NUMBER
  }
  const byte: u32 = load<u8>(at)
  if (byte - ZERO < 10 || byte === LOWER_E || byte === UPPER_E) return NO_NUMBER
  const value = divideByPowerOfTen(digits, decimals)
  if (Number.isNaN(value)) return NO_NUMBER
  store<f64>(target, negative ? -value : value)
  return at
}

/** Adds digits from `start` on to `digits`, eight at a time, while there is room; returns the address after them. */

function readDigits(start: usize): usize {
  let at = start
  while (true) {
    const word = load<u64>(at)
    // The top bit of each byte that is not a digit; only the lowest of these bits is reliable.
    const others = ((word + 0x46 * BYTES) | (word - 0x30 * BYTES)) & (0x80 * BYTES)
    const count = <u32>ctz(others) >> 3
    if (count === 0 || digits >= load<u64>(POWERS_OF_TEN + ((MAX_DIGITS - count) << 3))) return at
    digits = digits * load<u64>(POWERS_OF_TEN + (count << 3)) + parseDigits(word, count)
    at += count
    if (count < 8) return at
  }
}

/** Parses the first `count` bytes of a word, one to eight digits. */
function parseDigits(word: u64, count: u32): u64 {
  const pairs = (((word << ((8 - count) << 3)) & (0x0f * BYTES)) * ((10 << 8) + 1)) >> 8
  const fours = ((pairs & (0xff * PAIRS)) * ((100 << 16) + 1)) >> 16
  return ((fours & (0xffff * FOURS)) * (((<u64>10_000) << 32) + 1)) >> 32
}

/**
 * Returns the double nearest to whole / 10^decimals; NaN for some quotients above 2^53, and next to a power of two, where the spacing of
 * doubles changes. The estimate is at most one double off, because only the conversion of `whole` and the division are rounded. `whole` minus
 * the estimate is exact and gives the direction. Both sides are divided by 2^decimals first.
 */
function divideByPowerOfTen(whole: u64, decimals: u32): f64 {
  const divisor = load<u64>(POWERS_OF_FIVE + (decimals << 3))
  const scale = reinterpret<f64>((<u64>(EXPONENT_BIAS - decimals)) << MANTISSA_BITS)
  const estimate = <f64>whole / <f64>(<i64>divisor)
  if (whole < FIRST_INEXACT || decimals === 0) return estimate * scale
  let bits = reinterpret<u64>(estimate)
  const shift = EXPONENT_BIAS + MANTISSA_BITS - <i32>(bits >> MANTISSA_BITS)
  if (shift < 0 || (bits & MANTISSA) < 2) return NaN
  const mantissa = (bits & MANTISSA) | (MANTISSA + 1)
  // Both terms may overflow, but their difference does not; it is never exactly half of the odd divisor.
  const remainder = <i64>((shift < 64 ? whole << shift : 0) - mantissa * divisor)
  const half = <i64>(divisor >> 1)
  if (remainder > half) bits++
  else if (remainder < -half) bits--
  return reinterpret<f64>(bits) * scale
}

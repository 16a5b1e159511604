// Not shared with scan-samples.ts: where a tool makes getters of imports, as that of the tests does, each byte would call one.
const [MINUS, POINT, ZERO, NINE, UPPER_E, LOWER_E] = [0x2d, 0x2e, 0x30, 0x39, 0x45, 0x65] as const

/** Returned in place of an offset when the bytes are no number, or none that `scanNumber` reads. */
export const NO_NUMBER = -1

/** Below it `head` has room for one more digit, or for four: it holds up to 15 digits. */
const [FULL, ROOM_FOR_FOUR] = [1e14, 1e11] as const
/** `tail` holds up to four digits more. */
const LARGEST_SCALE = 1e4
const WORD = 4

/**
 * Reads a number of up to 19 digits from its bytes into `numbers[index]`, to the bit as JSON.parse does. Returns where it ends;
 * NO_NUMBER for anything else, also for an exponent, 16 digits before the point or 23 behind it: JSON.parse reads these.
 */
export function scanNumber(
  body: Buffer,
  view: DataView,
  start: number,
  numbers: Float64Array,
  index: number,
): number {
  const first = body[start] === MINUS ? start + 1 : start
  let at = first
  let byte = body[at] as number
  // The digits are head × scale + tail. Leading zeros take no room.
  let head = 0
  let tail = 0
  let scale = 1
  while (byte >= ZERO && byte <= NINE) {
    head = head * 10 + (byte - ZERO)
    byte = body[++at] as number
  }
  if (head >= 10 * FULL || at === first || (body[first] === ZERO && at > first + 1)) return NO_NUMBER
  let decimals = 0
  if (byte === POINT) {
    const point = at++
    const last = view.byteLength - WORD
    while (head < ROOM_FOR_FOUR && at <= last) {
      const four = parseFourDigits(view.getInt32(at, true))
      if (four === NOT_DIGITS) break
      head = head * 10_000 + four
      at += WORD
    }
    byte = body[at] as number
    while (byte >= ZERO && byte <= NINE && head < FULL) {
      head = head * 10 + (byte - ZERO)
      byte = body[++at] as number
    }
    while (byte >= ZERO && byte <= NINE) {
      tail = tail * 10 + (byte - ZERO)
      scale *= 10
      byte = body[++at] as number
    }
    decimals = at - point - 1
    if (decimals === 0 || decimals > MOST_DECIMALS) return NO_NUMBER
  }
  if (byte === LOWER_E || byte === UPPER_E || scale > LARGEST_SCALE) return NO_NUMBER
  // Most numbers are exact here already: both sides of this division are.
  const value =
    scale === 1 ? head / (POWERS_OF_TEN[decimals] as number) : divideByPowerOfTen(head, scale, tail, decimals)
  if (Number.isNaN(value)) return NO_NUMBER
  numbers[index] = first === start ? value : -value
  return at
}

const NOT_DIGITS = -1

/** Parses four digits, the first one in the lowest byte; NOT_DIGITS when one is none. */
function parseFourDigits(word: number): number {
  // '0' to '9' are 0x30 to 0x39: the upper half of each byte is 3, also when 6 is added.
  if ((word & 0xf0f0f0f0) !== 0x30303030 || ((word + 0x06060606) & 0xf0f0f0f0) !== 0x30303030)
    return NOT_DIGITS
  const digits = word & 0x0f0f0f0f
  const pairs = Math.imul(digits, 10) + (digits >>> 8)
  return (pairs & 0xff) * 100 + ((pairs >>> 16) & 0xff)
}

/** The powers of ten that a double holds exactly. */
const POWERS_OF_TEN = Array.from({ length: 23 }, (_, exponent) => 10 ** exponent)
const MOST_DECIMALS = POWERS_OF_TEN.length - 1
const HALF = 2 ** 26
/** More than the relative error of `rest` below, which is rounded twice: 2^-52. */
const SLACK = 2 ** -50

/**
 * Returns the double next to (head × scale + tail) / 10^decimals; NaN when that is in the middle of two doubles, or too close to
 * it to tell.
 *
 * Sums of two doubles hold the numerator and the quotient (T. J. Dekker, "A floating-point technique for extending the available
 * precision", 1971). Only the division of the rest is inexact, so the quotient is right when the rest, a little smaller or a
 * little larger, gives the same double.
 */
function divideByPowerOfTen(head: number, scale: number, tail: number, decimals: number): number {
  const divisor = POWERS_OF_TEN[decimals] as number
  const upper = Math.floor(head / HALF) * HALF
  const lower = (head - upper) * scale + tail
  const numerator = upper * scale + lower
  const lost = lower - (numerator - upper * scale)
  const quotient = numerator / divisor
  const product = quotient * divisor
  const rest = (numerator - product - errorOf(product, quotient, divisor) + lost) / divisor
  const slack = Math.abs(rest) * SLACK
  const least = quotient + (rest - slack)
  return least === quotient + (rest + slack) ? least : Number.NaN
}

/** Returns a × b - product, which is a double, too. */
function errorOf(product: number, a: number, b: number): number {
  const upperA = upperBits(a)
  const lowerA = a - upperA
  const upperB = upperBits(b)
  const lowerB = b - upperB
  return upperA * upperB - product + upperA * lowerB + lowerA * upperB + lowerA * lowerB
}

/** Returns the upper 26 bits of a double. */
function upperBits(value: number): number {
  const shifted = value * (2 ** 27 + 1)
  return shifted - (shifted - value)
}

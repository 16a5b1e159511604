import { expect, test } from 'vitest'
import { scanSamples } from '../../../src/core/service/wire/scan-samples.ts'
import { whole } from '../../kit/sampling.ts'

const NUMBERS = whole ? 2_000_000 : 160_000
const A_LIST = 20_000
const SEED = 20_251_122

/** Makers of number texts, one function per kind. `random` returns 32-bit whole numbers. */
const KINDS: Readonly<Record<string, (random: () => number) => string>> = {
  'doubles as the service prints them': (random) => String(doubleOf(random) * 10 ** ((random() % 9) - 4)),
  'any double': (random) => String(anyDouble(random)),
  'up to 19 digits with a point anywhere': (random) => pointed(digitsOf(random, 1 + (random() % 19)), random),
  '20 and more digits': (random) => pointed(digitsOf(random, 20 + (random() % 20)), random),
  'next to the middle of two doubles': middleOf,
  'whole numbers': (random) => digitsOf(random, 1 + (random() % 22)).replace(/^0+(?=.)/, ''),
  exponents: (random) =>
    `${pointed(digitsOf(random, 1 + (random() % 18)), random)}e${(random() % 660) - 340}`,
  subnormals: (random) => `${digitsOf(random, 17).replace(/^0+(?=.)/, '')}e-${324 + (random() % 16)}`,
}

test.each(Object.entries(KINDS))('numbers equal those of JSON.parse to the bit: %s', (_kind, textOf) => {
  const random = makeRandom(SEED)
  const count = NUMBERS / Object.keys(KINDS).length
  for (let done = 0; done < count; done += A_LIST) {
    const texts = Array.from({ length: A_LIST }, () => (random() % 3 === 0 ? '-' : '') + textOf(random))
    const expected = Float64Array.from(JSON.parse(`[${texts.join(',')}]`) as number[])
    const body = Buffer.from(`[${texts.map((text) => `{"mpa":${text}}`).join(',')}]`)
    const read = scanSamples(body, 0)?.data.fields.get('mpa')?.numbers.subarray(0, A_LIST)
    if (!read || Buffer.compare(bytesOf(read), bytesOf(expected)) === 0) {
      expect(read).toBeDefined()
      continue
    }
    const at = expected.findIndex((value, index) => !Object.is(value, read[index]))
    throw new Error(`${texts[at]} became ${read[at]}`)
  }
})

function bytesOf(numbers: Float64Array): Buffer {
  return Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength)
}

const VIEW = new DataView(new ArrayBuffer(8))

function doubleOf(random: () => number): number {
  return (random() * 2 ** 21 + (random() >>> 11)) / 2 ** 53
}

function anyDouble(random: () => number): number {
  VIEW.setUint32(0, random())
  VIEW.setUint32(4, random())
  const value = Math.abs(VIEW.getFloat64(0))
  return Number.isFinite(value) ? value : 0.5
}

function digitsOf(random: () => number, count: number): string {
  let digits = ''
  while (digits.length < count) digits += String(random()).padStart(10, '0').slice(1)
  return digits.slice(0, count)
}

/** Puts a point into the digits, or before them with up to five zeros. */
function pointed(digits: string, random: () => number): string {
  const whole = random() % (digits.length + 1)
  if (whole === 0) return `0.${'0'.repeat(random() % 6)}${digits}`
  const before = digits.slice(0, whole).replace(/^0+(?=.)/, '')
  return whole === digits.length ? before : `${before}.${digits.slice(whole)}`
}

/** Returns the middle of two neighbouring doubles between 0.5 and 4096, cut to 16 to 30 digits, so that the last digit decides the rounding. */
function middleOf(random: () => number): string {
  const mantissa = (BigInt(random() >>> 12) << 32n) + BigInt(random()) + (1n << 52n)
  const exponent = 41 + (random() % 13)
  // (2 × mantissa + 1) / 2^exponent, as a whole number of 10^-exponent.
  const scaled = String((2n * mantissa + 1n) * 5n ** BigInt(exponent)).padStart(exponent + 1, '0')
  const text = `${scaled.slice(0, -exponent)}.${scaled.slice(-exponent)}`
  return text.slice(0, 17 + (random() % 15))
}

/** Makes a generator of 32-bit whole numbers (xorshift128). */
function makeRandom(seed: number): () => number {
  let [x, y, z, w] = [seed, 362_436_069, 521_288_629, 88_675_123]
  return () => {
    const t = x ^ (x << 11)
    ;[x, y, z] = [y, z, w]
    w = (w ^ (w >>> 19) ^ t ^ (t >>> 8)) >>> 0
    return w
  }
}

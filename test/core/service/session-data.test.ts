import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readActivity } from '../../../src/core/service/service.ts'
import { scanSamples, seekMember } from '../../../src/core/service/wire/scan-samples.ts'
import { columnsOf, parseActivity, type WireSamples } from '../../../src/core/service/wire/wire-activity.ts'
import { unwrap } from '../../kit/parsed.ts'
import { whole } from '../../kit/sampling.ts'
import { readTable } from '../../kit/table.ts'

const number = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.float({ noNaN: true, noDefaultInfinity: true }),
  fc
    .tuple(fc.integer({ min: -999_999_999, max: 999_999_999 }), fc.nat({ max: 9 }))
    .map(([n, e]) => n / 10 ** e),
)
const name = fc.oneof(
  fc.constantFrom('power', 'unix_time', 'unix_tame', 'mpa', 'mpb', 'hr', 'lat', '', 'é', '__proto__', '7'),
  fc.string({ maxLength: 4 }),
)
const value = fc.oneof(
  { weight: 6, arbitrary: number },
  fc.constant(null),
  fc.boolean(),
  fc.string({ maxLength: 6 }),
  fc.jsonValue({ maxDepth: 2 }),
)
const samples = fc.array(fc.dictionary(name, value, { maxKeys: 6 }), { maxLength: 12 })
const layout = fc.constantFrom(undefined, 1, '\t', '\r\n  ')

function bodyOf(list: unknown, space?: string | number, around: object = {}): Buffer {
  return Buffer.from(
    JSON.stringify({ success: true, name: 'a', ...around, session_data: list, summary: {} }, null, space),
  )
}

function scan(body: Buffer): WireSamples | undefined {
  const start = seekMember(body, 'session_data')
  return start === undefined ? undefined : scanSamples(body, start)?.data
}

/** Returns the columns' values, sample by sample, with null for missing values. */
function rowsOf(data: WireSamples): unknown[] {
  return Array.from({ length: data.count }, (_, index) =>
    [...data.fields]
      .map(([field, { numbers, others }]) => {
        const number = numbers[index] as number
        return [field, Number.isNaN(number) ? (others.get(index) ?? null) : number]
      })
      .filter(([, held]) => held !== null)
      .sort(([a], [b]) => ((a as string) < (b as string) ? -1 : 1)),
  )
}

test('reads any list of samples like JSON.parse, in any layout', () => {
  fc.assert(
    fc.property(samples, layout, (list, space) => {
      const body = bodyOf(list, space)
      const parsed = JSON.parse(String(body)) as { session_data: Record<string, unknown>[] }
      const expected = columnsOf(parsed.session_data)
      const scanned = scan(body)
      const names = list.flatMap((sample) => Object.keys(sample))
      const plain = names.every((key) => key !== '' && !JSON.stringify(key).includes('\\'))
      if (plain) expect(scanned).toBeDefined()
      if (scanned && expected) expect(rowsOf(scanned)).toEqual(rowsOf(expected))
    }),
    { numRuns: whole ? 2_000 : 500 },
  )
})

test('reads a list over many windows with late fields and texts, wherever they end', () => {
  for (let run = 0; run < (whole ? 12 : 3); run++) {
    const list = Array.from({ length: 4_000 }, (_, index) => ({
      unix_time: 1_700_000_000_000 + index,
      power: index % 7 === 0 ? null : index / 3,
      ...(index > 1_500 && { mpa: index * 1e-9, [`field${run}`]: -index }),
      ...(index % 1_111 === 1_110 && { note: 'é"\\'.repeat(index % 40) }),
      ...(index % 900 === 899 && { lap: { at: [index, null] }, text: 'x'.repeat(run) }),
    }))
    const body = bodyOf(list, run % 3 === 0 ? 1 : undefined, { name: 'n'.repeat(run) })
    expect(body.length).toBeGreaterThan(262_144)
    const scanned = scan(body)
    const expected = columnsOf(list)
    expect(scanned && expected && rowsOf(scanned)).toEqual(expected && rowsOf(expected))
  }
})

test.each([
  ['ever longer', 60_000, (index: number) => 'n'.repeat(index / 2_000)],
  ['short and more than expected of any list', 150_000, () => ''],
])('reads samples that are %s', (_what, count, note) => {
  const list = Array.from({ length: count }, (_, index) => ({
    hr: index,
    ...(note(index) && { note: note(index) }),
  }))
  const scanned = scan(bodyOf(list))
  expect(scanned?.count).toBe(count)
  expect(scanned && rowsOf(scanned)).toEqual(rowsOf(columnsOf(list) as WireSamples))
})

test.each([
  ['a sample longer than the window', [{ power: 1 }, { power: 2, note: 'x'.repeat(300_000) }]],
  ['a name longer than a label', [{ power: 1, ['n'.repeat(200)]: 2 }]],
])('leaves %s to JSON.parse', (_what, list) => {
  const body = bodyOf(list)
  expect(scan(body)).toBeUndefined()
  const { session_data: data } = readActivity({ ...answer(''), body }, 'GET activity x')
  expect(data && rowsOf(data)).toEqual(rowsOf(columnsOf(list) as WireSamples))
})

test.each(
  readTable(`
    cut in a number | {"success":true,"session_data":[{"power":1
    cut after a sample | {"success":true,"session_data":[{"power":1}
    a leading zero | {"success":true,"session_data":[{"power":01}]}
    a point without decimals | {"success":true,"session_data":[{"power":1.}]}
    a lone minus | {"success":true,"session_data":[{"power":-}]}
    a comma too many | {"success":true,"session_data":[{"power":1,}]}
    two values | {"success":true,"session_data":[{"power":1 2}]}
    a line break in a name | {"success":true,"session_data":[{"po\twer":1}]}
    a word | {"success":true,"session_data":[{"power":nulll}]}
    a name without quotes | {"success":true,"session_data":[{power:1}]}
    something behind the object | {"success":true,"session_data":[]}x`),
)('refuses bytes that are not JSON: %s', (_what, text = '') => {
  expect(() => readActivity(answer(text), 'GET activity x')).toThrow('cut or broken JSON')
})

test.each(
  readTable(`
    a name twice in a sample | "session_data":[{"power":1,"power":2}]
    an empty name | "session_data":[{"power":1,"":3}]
    a name with an escape | "session_data":[{"po\\u0077er":2}]
    null | "session_data":null
    an object with number keys | "session_data":{"0":{"power":2}}
    a sample that is none | "session_data":[{"power":2},null,7]
    two lists of samples | "session_data":[{"power":1}],"session_data":[{"power":2},{"power":3}]
    the name further inside, and as a text | "description":"session_data","more":{"session_data":[{"power":9}]},"session_data":[{"power":1}]`),
)('treats %s like JSON.parse', (_what, members) => {
  const text = `{"success":true,"name":"a",${members},"summary":{}}`
  const parsed = parseActivity(JSON.parse(text) as Record<string, unknown>)
  expect(readActivity(answer(text), 'GET activity x')).toEqual(unwrap(parsed))
})

const answer = (text: string) => ({ status: 200, headers: {}, body: Buffer.from(text) })

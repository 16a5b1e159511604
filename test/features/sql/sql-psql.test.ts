import { spawn, spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { collectResults, openQueries, type Queries } from '../../../src/features/sql/raw-query.ts'
import { csvPrinter } from '../../../src/features/sql/sql-formats.ts'
import { tableOf } from '../../docs/cookbook/answer.ts'
import { openTestDatabase, type TestDatabase } from '../../kit/postgres.ts'
import { whole } from '../../kit/sampling.ts'

const SEED = 20_250_701
const SELECTS = whole ? 2_500 : 800
const TABLES = whole ? 300 : 150
const END = '-- end of the answer --'

const hasPsql = spawnSync('psql', ['--version']).status === 0
if (!hasPsql) {
  const sentence = 'psql is not installed; run: apt-get install postgresql-client'
  if (process.env.CI) throw new Error(sentence)
  process.stderr.write(`musette tests: ${sentence} (the tests that compare with it do not run)\n`)
}

describe.runIf(hasPsql)('musette sql beside psql', () => {
  let database: TestDatabase
  let queries: Queries
  beforeAll(async () => {
    database = await openTestDatabase({ migrated: false })
    queries = await openQueries({ connectionString: database.url, write: false })
  })
  afterAll(async () => {
    await queries?.close()
    await database?.close()
  })

  it(`writes the same CSV to the byte for thousands of selects (seed ${SEED})`, async () => {
    const selects = fc.sample(generatedSelect, { seed: SEED, numRuns: SELECTS })
    const theirs = await askPsql(database.url, ['--csv'], selects)
    for (const [index, select] of selects.entries()) {
      expect(await csvOf(queries, select), select).toBe(theirs[index])
    }
  })

  it(`formats cells of some of them alike (seed ${SEED})`, async () => {
    const selects = fc.sample(narrowSelect, { seed: SEED, numRuns: TABLES })
    const theirs = await askPsql(database.url, ['--pset=footer=off', '--pset=linestyle=ascii'], selects)
    for (const [index, select] of selects.entries()) {
      const [result] = await collectResults(queries, select)
      const lines = result ? tableOf(result).split('\n').slice(2, -1) : []
      // A cell of psql stands between a space and a bar.
      const cells = theirs[index]?.trimEnd().split('\n').slice(2)
      expect(
        lines.map((line) => line.replace(/ {2}end$/, '')),
        select,
      ).toEqual(cells?.map((line) => line.replace(/ \| end$/, '').slice(1)))
    }
  })
})

async function csvOf(queries: Queries, select: string): Promise<string> {
  let text = ''
  for await (const part of queries.run(select)) {
    if (part.kind === 'fields') text += csvPrinter.begin(part.fields)
    if (part.kind === 'rows') text += csvPrinter.rows(part.rows)
  }
  return text
}

/** Runs all selects in one process of psql and returns what it prints for each. */
async function askPsql(
  url: string,
  options: readonly string[],
  selects: readonly string[],
): Promise<string[]> {
  const known = new URL(url)
  // psql knows it from version 16.
  known.searchParams.delete('require_auth')
  const child = spawn('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', ...options, known.href], {
    env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', PGTZ: 'UTC', PGCLIENTENCODING: 'UTF8' },
  })
  const chunks: Buffer[] = []
  const complaints: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => complaints.push(chunk))
  // A complaint ends psql before it has read all; it is told below.
  child.stdin.on('error', () => undefined)
  child.stdin.end(selects.map((select) => `${select};\n\\echo '${END}'\n`).join(''))
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect(code, Buffer.concat(complaints).toString('utf8')).toBe(0)
  return Buffer.concat(chunks).toString('utf8').split(`${END}\n`).slice(0, -1)
}

/** A value as the text of its type: what stands between the quotes of a literal. */
type Texts = fc.Arbitrary<string>

const int = (bits: number): Texts =>
  fc.bigInt({ min: -(2n ** BigInt(bits - 1)), max: 2n ** BigInt(bits - 1) - 1n }).map(String)
const two = (max: number, min = 0): Texts => fc.integer({ min, max }).map((n) => String(n).padStart(2, '0'))
const joined = (glue: string, ...parts: Texts[]): Texts => fc.tuple(...parts).map((all) => all.join(glue))

// Postgres holds every character but NUL; half of a surrogate pair is none. psql leaves out the code points that Unicode
// promises never to give to a character.
const anyText: Texts = fc
  .oneof(
    fc.string({ maxLength: 12 }),
    fc.string({ unit: 'grapheme', maxLength: 8 }),
    fc.string({ unit: 'binary', maxLength: 8 }),
    fc.string({
      unit: fc.constantFrom(...'漢字カナ한e\u0301ü,"\'\\.\n\r\t\u001b\u0007\u009b|{}()<> \u007f'),
      maxLength: 8,
    }),
    fc.constantFrom('', 'NULL', '\\.', '\\N', ' a ', '"', ','),
  )
  .map((text) => wellFormed(text.replaceAll('\0', '')))

const or = (some: Texts, ...odd: string[]): Texts => fc.oneof(some, fc.constantFrom(...odd))
const NO_NUMBERS = ['NaN', 'Infinity', '-Infinity']
const day: Texts = joined('-', fc.integer({ min: 1_000, max: 9_999 }).map(String), two(12, 1), two(28, 1))
const time: Texts = joined(':', two(23), two(59), joined('.', two(59), fc.stringMatching(/^[0-9]{1,6}$/)))
const json: Texts = fc
  .json({ maxDepth: 2 })
  .map((text) => text.replaceAll('\\u0000', '').replaceAll(/\\ud[89a-f]../gi, ''))
  .filter(isJson)
const words: Texts = fc.stringMatching(/^[a-z]{1,5}( [a-z]{1,5}){0,3}$/)

const SCALARS: Readonly<Record<string, Texts>> = {
  smallint: int(16),
  integer: int(32),
  bigint: int(64),
  numeric: or(
    joined('.', int(90), fc.stringMatching(/^[0-9]{1,25}$/)),
    ...NO_NUMBERS,
    '0.000',
    '1e-30',
    '-0.10',
  ),
  'numeric(12,3)': fc.integer().map((n) => String(n / 1000)),
  real: or(fc.float({ noNaN: true }).map(String), ...NO_NUMBERS, '-0', '1e-7', '16777217'),
  'double precision': or(fc.double({ noNaN: true }).map(String), ...NO_NUMBERS, '-0', '1e-7', '1e20', '0.1'),
  boolean: fc.constantFrom('t', 'f'),
  text: anyText,
  'varchar(20)': anyText.map((text) => [...text].slice(0, 20).join('')),
  'char(5)': words.map((text) => text.slice(0, 5)),
  name: words,
  bytea: fc.uint8Array({ maxLength: 9 }).map((some) => `\\x${Buffer.from(some).toString('hex')}`),
  date: or(day, 'infinity', '-infinity', '0044-03-15 BC', '294000-01-01', '0007-02-03', '2024-02-29'),
  time,
  timetz: joined('', time, fc.constantFrom('+00', '-03:30', '+05:45')),
  timestamp: or(joined(' ', day, time), 'infinity', '-infinity'),
  timestamptz: or(joined('', joined(' ', day, time), fc.constantFrom('', 'Z')), 'infinity', '-infinity'),
  interval: fc
    .tuple(int(12), int(12), int(40))
    .map(([m, d, us]) => `${m} months ${d} days ${us} microseconds`),
  uuid: fc.uuid(),
  json,
  jsonb: json,
  inet: fc.oneof(
    fc.ipV4(),
    fc.ipV6().filter((text) => !text.includes('.')),
  ),
  point: joined(',', int(20), int(20)),
  money: int(40),
  'bit(5)': fc.stringMatching(/^[01]{5}$/),
  tsvector: words,
  int4range: fc.tuple(fc.nat(999), fc.integer({ min: 999, max: 2_000 })).map((pair) => `[${pair}]`),
  int4multirange: fc.constantFrom('{}', '{[1,3),[5,9)}'),
}

/** A select with a few columns and rows of any type, NULLs, arrays, and names that are odd or come twice. */
const generatedSelect: fc.Arbitrary<string> = fc
  .tuple(fc.array(columnArbitrary(), { minLength: 1, maxLength: 5 }), fc.nat(4))
  .map(([columns, count]) => {
    const names = columns.map((_, index) => `c${index}`)
    const rowOf = (number: number) =>
      `(${columns.map(({ type, values }) => castOf(values[number] ?? null, type)).join(', ')})`
    const rows = Array.from({ length: count }, (_, number) => rowOf(number + 1))
    // The first row gives the types, also of an answer without rows.
    const values = [rowOf(0), ...rows].map((row, number) => row.replace('(', `(${number}, `))
    const picked = columns.map(({ name }, index) => `${names[index]} as ${quoted(name)}`)
    return `select ${picked.join(', ')} from (values ${values.join(', ')}) v (n, ${names.join(', ')}) where v.n > 0 order by v.n`
  })

/** A select of one column and a last one that shows where the first one ends; no line breaks and no emoji in it. */
const narrowSelect: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom('text', 'integer', 'numeric', 'double precision', 'date', 'boolean'),
    fc.integer({ min: 1, max: 4 }),
  )
  .chain(([type, count]) => {
    const some = type === 'text' ? plainText : textsOf(type)
    return fc.tuple(fc.constant(type), fc.array(some, { minLength: count, maxLength: count }))
  })
  .map(([type, values]) => {
    const rows = values.map((value) => `(${castOf(value, type)})`)
    return `select x, 'end' as "end" from (values ${rows.join(', ')}) v (x)`
  })

const plainText: Texts = fc
  .string({
    unit: fc.constantFrom(...'abc漢字カナ한글ｶ！é\u0301ü,\\\r\u001b\u0007\u009b\u007f\t'),
    minLength: 1,
    maxLength: 12,
  })
  .filter((text) => !/\s$|\u0301$|^\s|^\u0301/.test(text))

function columnArbitrary(): fc.Arbitrary<{ name: string; type: string; values: Array<string | null> }> {
  const name = fc.oneof(
    fc.constantFrom('max', 'min', 'count', '?column?', 'Größe', '漢字', 'a,b', 'say "so"', 'two\nlines'),
    anyText.filter((text) => text.length > 0).map((text) => wellFormed(text.slice(0, 10))),
  )
  const type = fc.tuple(fc.constantFrom(...Object.keys(SCALARS)), fc.integer({ min: 0, max: 9 }))
  return fc.tuple(name, type).chain(([columnName, [scalar, kind]]) => {
    const one = textsOf(scalar)
    const array = kind === 0
    const text: Texts = array
      ? fc
          .array(fc.option(one, { freq: 4 }), { maxLength: 3 })
          .map((values) => `{${values.map(elementOf).join(',')}}`)
      : one
    const values = fc.array(fc.option(text, { freq: 4 }), { minLength: 5, maxLength: 5 })
    return values.map((some) => ({ name: columnName, type: array ? `${scalar}[]` : scalar, values: some }))
  })
}

function wellFormed(text: string): string {
  return Buffer.from(text)
    .toString('utf8')
    .replace(/\p{Noncharacter_Code_Point}/gu, '')
}

function textsOf(type: string): Texts {
  const texts = SCALARS[type]
  if (!texts) throw new Error(`no values of ${type}`)
  return texts
}

function elementOf(value: string | null): string {
  return value === null ? 'NULL' : `"${value.replace(/["\\]/g, '\\$&')}"`
}

function castOf(value: string | null, type: string): string {
  return value === null ? `null::${type}` : `'${value.replaceAll("'", "''")}'::${type}`
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

import { spawn, spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openQueries } from '../../../src/features/sql/raw-query.ts'
import { csvPrinter } from '../../../src/features/sql/sql-formats.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase } from '../../kit/postgres.ts'
import { whole } from '../../kit/sampling.ts'
import { readTable } from '../../kit/table.ts'

const SEED = 20_250_701
const SELECTS = whole ? 2_500 : 800
const END = '-- end of the answer --'

const hasPsql = spawnSync('psql', ['--version']).status === 0
if (!hasPsql) {
  const sentence = 'psql is not installed; run: apt-get install postgresql-client'
  if (process.env.CI) throw new Error(sentence)
  process.stderr.write(`musette tests: ${sentence} (the tests that compare with it do not run)\n`)
}

// Removes what the two cannot both print: NUL and lone surrogates, which Postgres does not store, and Unicode noncharacters, which psql
// leaves out.
const wellFormed = (text: string) =>
  Buffer.from(text.replaceAll('\0', ''))
    .toString('utf8')
    .replace(/\p{Noncharacter_Code_Point}/gu, '')
const odd = fc.constantFrom(...'漢字カナ한e\u0301ü,"\'\\.\n\r\t\u001b\u0007\u009b|{}()<> \u007f')
const anyText = fc
  .oneof(
    fc.string({ maxLength: 12 }),
    fc.string({ unit: 'grapheme', maxLength: 8 }),
    fc.string({ unit: 'binary', maxLength: 8 }),
    fc.string({ unit: odd, maxLength: 8 }),
    fc.constantFrom('', 'NULL', '\\.', '\\N', ' a ', '"', ','),
  )
  .map(wellFormed)
/** A column name, sometimes a repeated one. */
const anyName = fc.oneof(
  fc.constantFrom('max', 'min', '?column?', 'Größe', '漢字', 'a,b', 'say "so"', 'two\nlines'),
  anyText.filter((text) => text !== '').map((text) => wellFormed(text.slice(0, 10))),
)

/** A SELECT with a few columns and rows of texts and NULLs. */
const generatedSelect = fc
  .tuple(
    fc.array(fc.tuple(anyName, fc.array(fc.option(anyText, { freq: 4 }), { minLength: 4, maxLength: 4 })), {
      minLength: 1,
      maxLength: 5,
    }),
    fc.nat(4),
  )
  .map(([columns, count]) => {
    const literal = (value: string | null | undefined) =>
      value == null ? 'null::text' : `'${value.replaceAll("'", "''")}'`
    const rows = [0, 1, 2, 3].map(
      (n) => `(${[n, ...columns.map(([, values]) => literal(values[n]))].join(', ')})`,
    )
    const picked = columns.map(([name], index) => `c${index} as "${name.replaceAll('"', '""')}"`)
    const names = columns.map((_, index) => `c${index}`)
    return `select ${picked.join(', ')} from (values ${rows.join(', ')}) v (n, ${names.join(', ')}) where n < ${count} order by n`
  })

/** Values of the types whose text form depends on session settings. */
const TYPED = readTable(`
double precision | NaN Infinity -0 1e-7 1e20 0.1 0.30000000000000004
real | 16777217 0.1 1e-7
numeric | 0.000 1e-30 -0.10 12345678901234567890.5
boolean | t f
bytea | \\x00ff5c
date | infinity 294000-01-01 0007-02-03
time | 12:34:56.789
timestamptz | 2024-02-29T12:34:56.789+05:45 -infinity
interval | 14mon 3d -5us 1:02:03.4
jsonb | {"a":[1,"ü"]}
money | 12.5
point | 1,2
inet | ::1/64
int4range | [1,3)
text[] | {a,"b,c",NULL,""}`).flatMap(([type, values = '']) =>
  values.split(' ').map((value) => `select '${value}'::${type} as x`),
)

describe.runIf(hasPsql)('musette sql, compared with psql,', () => {
  const database = openForAll(() => openTestDatabase({ migrated: false }))
  const queries = openForAll(() => openQueries({ connectionString: database.url, write: false }))

  it(`writes byte-identical CSV for hundreds of selects (seed ${SEED})`, async () => {
    const selects = [...TYPED, ...fc.sample(generatedSelect, { seed: SEED, numRuns: SELECTS })]
    const theirs = await askPsql(database.url, selects)
    for (const [index, select] of selects.entries()) {
      let text = ''
      for await (const part of queries.run(select)) {
        if (part.kind === 'fields') text += csvPrinter.begin(part.fields)
        if (part.kind === 'rows') text += csvPrinter.rows(part.rows)
      }
      expect(text, select).toBe(theirs[index])
    }
  })
})

/** Runs all selects in one psql process and returns the output of each. */
async function askPsql(url: string, selects: readonly string[]): Promise<string[]> {
  const known = new URL(url)
  // psql before 16 refuses the parameter.
  known.searchParams.delete('require_auth')
  const child = spawn('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '--csv', known.href], {
    env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', PGTZ: 'UTC', PGCLIENTENCODING: 'UTF8' },
  })
  const chunks: Buffer[] = []
  const complaints: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => complaints.push(chunk))
  // After an error, psql exits before it has read its input; the test reports the error below.
  child.stdin.on('error', () => undefined)
  child.stdin.end(selects.map((select) => `${select};\n\\echo '${END}'\n`).join(''))
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect(code, Buffer.concat(complaints).toString('utf8')).toBe(0)
  return Buffer.concat(chunks).toString('utf8').split(`${END}\n`).slice(0, -1)
}

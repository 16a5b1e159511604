import { execFileSync } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { SAMPLE_FIELDS } from '../../src/core/store/samples/encode-samples.ts'
import { encodeParquet } from '../../src/features/export/parquet/parquet-encoder.ts'
import { type ExportColumn, makeValues } from '../../src/features/export/rows/exported-columns.ts'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { queryDuckDb } from '../kit/duckdb.ts'
import { makeAnswer } from './answers.ts'
import {
  type Bench,
  median,
  openBench,
  openFolder,
  psql,
  type Row,
  timed,
  urlForPsql,
  within,
} from './rig.ts'

const RIDES = 100
const SECONDS = 5_400
const SAMPLES = RIDES * SECONDS
const ROUNDS = 3
const ROUNDED_RIDES = 25

const COLUMNS = ['activity_id', 't', ...SAMPLE_FIELDS].join(', ')
/** The rows as an export has them: their fields without a column as one JSON object. */
const WITH_EXTRAS = `select ${COLUMNS}, extras
  from (select *, row_number() over (partition by activity_id order by t nulls first, ordinal, ctid) as n
        from training.samples) s
  left join (select activity_id, n, jsonb_object_agg(field, coalesce(others -> n::text, to_jsonb(value))) as extras
             from training.sample_extras, unnest("values") with ordinality as e(value, n) group by 1, 2) e
  using (activity_id, n)`

/** Writes all samples as one Parquet file: psql's COPY in CSV into a process of DuckDB, which has a native writer. */
function writeByDuckDb(bench: Bench, path: string, kind: 'full' | 'live'): void {
  const types = {
    ...{ activity_id: 'INTEGER', t: 'TIMESTAMPTZ' },
    ...Object.fromEntries(SAMPLE_FIELDS.map((field) => [field, typeOf(field)])),
    ...(kind === 'live' && { extras: 'VARCHAR' }),
  }
  const query = kind === 'live' ? WITH_EXTRAS : `select ${COLUMNS} from training.samples`
  const copy = `copy (${query}) to stdout (format csv)`
  const line = 'set -o pipefail; psql "$1" -q -c "$2" | "$0" test/bench/write-parquet.mjs "$3" "$4"'
  execFileSync('bash', ['-c', line, process.execPath, urlForPsql(bench), copy, path, JSON.stringify(types)])
}

const typeOf = (field: string) => (field === 'lat' || field === 'lng' ? 'double' : 'float')

/** Measures the same export of samples with the fields of a live service, as a share of the time that DuckDB's writer takes. */
async function measureLive(release: ReleaseStack): Promise<string> {
  const bench = await openBench(release, { rides: RIDES, seconds: SECONDS, kind: 'live' })
  const folder = await openFolder(release)
  await bench.musette(['sync'])
  await bench.client.query('vacuum analyze')
  const ratios: string[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const file = join(bench.folder, 'samples.parquet')
    const csv = await timed(() => writeByDuckDb(bench, file, 'live'))
    const whole = await timed(() => exportInto(bench, join(folder, String(round))))
    ratios.push((whole / csv).toFixed(2))
  }
  return ratios.join('  ')
}

/** Runs the command, of whose time its start is a part, as it is of DuckDB's. */
const exportInto = (bench: Bench, dir: string) =>
  bench.musette(['export', '--all', '--format', 'parquet', '--to', dir])

/** Encodes the samples of rides whose numbers are rounded, and returns the bytes of the file for each sample. */
async function measureBytes(): Promise<number> {
  const columns: ExportColumn[] = [
    { name: 'activity_id', type: 'int32' },
    { name: 'path', type: 'text' },
    { name: 't', type: 'instant' },
    ...SAMPLE_FIELDS.map((name): ExportColumn => ({ name, type: typeOf(name) })),
  ]
  const pages = async function* () {
    for (let ride = 1; ride <= ROUNDED_RIDES; ride++) {
      const answer = makeAnswer({ ride, seconds: SECONDS, version: 0, kind: 'rounded' })
      const samples: Record<string, number | null>[] = JSON.parse(String(answer)).session_data
      const page = columns.map(({ type }) => makeValues(type, samples.length))
      for (const [row, sample] of samples.entries()) {
        const fields = SAMPLE_FIELDS.map((field) => sample[field] ?? null)
        const values = [ride, `ride${ride}`, BigInt(sample.unix_time ?? 0) * 1_000n, ...fields]
        for (const [index, column] of page.entries()) {
          const value = values[index] ?? null
          if (value === null) column.nulls[row] = 1
          else column.values[row] = value
        }
      }
      yield { rows: samples.length, columns: page }
    }
  }
  let bytes = 0
  for await (const piece of encodeParquet('samples', columns, pages())) bytes += piece.length
  return bytes / (ROUNDED_RIDES * SECONDS)
}

/**
 * Measures `export --all` of 100 rides of 5,400 samples with every digit: its size, and its speed against psql's COPY of
 * the same rows in CSV into DuckDB's writer.
 */
export async function benchExport(release: ReleaseStack): Promise<Row[]> {
  const bench = await openBench(release, { rides: RIDES, seconds: SECONDS })
  const folder = await openFolder(release)
  const file = join(bench.folder, 'samples.copy')
  await bench.musette(['sync'])
  await bench.client.query('vacuum analyze training.samples')
  const rounds: Array<{ csv: number; whole: number; bytes: number; copied: number; native: number }> = []
  const written = join(bench.folder, 'samples.parquet')
  for (let round = 0; round < ROUNDS; round++) {
    psql(bench, `\\copy training.samples to '${file}' with (format binary)`)
    const csv = await timed(() => writeByDuckDb(bench, written, 'full'))
    const whole = await timed(() => exportInto(bench, join(folder, String(round))))
    const [count] = await queryDuckDb(
      `select count(*)::int as samples from '${folder}/${round}/samples/**/*.parquet'`,
    )
    if (count?.samples !== SAMPLES) throw new Error(`${count?.samples} samples were exported`)
    const [size] = await queryDuckDb(
      `select sum(total_compressed_size)::float8 as bytes from parquet_metadata('${folder}/${round}/samples/**/*.parquet')`,
    )
    const bytes = Number(size?.bytes)
    const [copied, native] = [(await stat(file)).size, (await stat(written)).size]
    rounds.push({ csv, whole, bytes, copied, native })
  }
  const of = (pick: (round: (typeof rounds)[number]) => number) => median(rounds.map(pick))
  const rate = (ms: number) => `${Math.round(SAMPLES / ms).toLocaleString('en')} k samples/s`
  return [
    [
      'bytes a sample in Parquet, numbers with one to seven decimals',
      (await measureBytes()).toFixed(1),
      '<= 25',
    ],
    ['the same, every number with all its digits', (of(({ bytes }) => bytes) / SAMPLES).toFixed(1)],
    ["the same in psql's binary COPY", (of(({ copied }) => copied) / SAMPLES).toFixed(1)],
    ['export --all, from the start of the process to its end', rate(of(({ whole }) => whole))],
    [
      "the same in a file of DuckDB, which psql's COPY in CSV is piped into",
      (of(({ native }) => native) / SAMPLES).toFixed(1),
    ],
    [
      'time of the export / of that, each round',
      rounds.map(({ csv, whole }) => (whole / csv).toFixed(2)).join('  '),
      '<= 1',
    ],
    ['the same with the fields of a live service', await within(measureLive), '<= 1'],
  ]
}

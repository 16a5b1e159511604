import { spawnSync } from 'node:child_process'
import { rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exportAll } from '../../src/app/export/export-all.ts'
import { openStore } from '../../src/store/store.ts'
import { queryDuckDb } from '../kit/duckdb.ts'
import { makeSilentLog } from '../kit/log.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { median, openBench, type Row, timed } from './rig.ts'

const RIDES = 100
const SECONDS = 5_400
const SAMPLES = RIDES * SECONDS
const ROUNDS = 3
const FILE = join(tmpdir(), `musette-bench-export-${process.pid}.copy`)
const SUM = 'count(*)::int as samples, sum(power::float8) as power, max(hr) as hr from'

/**
 * Measures `export --all` of 100 rides of 5,400 samples with every digit: its size, its speed against psql's binary COPY of the
 * same rows out of the same table, what an export costs after one ride has changed, and DuckDB's scan against that of Postgres.
 */
export async function benchExport(): Promise<Row[]> {
  const bench = await openBench({ rides: RIDES, seconds: SECONDS })
  const folder = await openTempDir('bench-export')
  const log = makeSilentLog()
  const store = openStore({ log }, { connectionString: bench.databaseUrl })
  try {
    await bench.musette(['sync'])
    await bench.client.query('vacuum analyze training.samples')
    const exportInto = (dir: string) => exportAll({ store, log }, { dir, kind: 'by_hand' })
    const rounds: Array<{ copy: number; whole: number; bytes: number; copied: number }> = []
    for (let round = 0; round < ROUNDS; round++) {
      const copy = await timed(() => copyOut(bench.databaseUrl))
      let bytes = 0
      const whole = await timed(async () => {
        const counts = await exportInto(join(folder.path, String(round)))
        if (counts?.samples !== SAMPLES) throw new Error(`${counts?.samples} samples were exported`)
      })
      const [size] = await queryDuckDb(
        `select sum(total_compressed_size)::float8 as bytes from parquet_metadata('${folder.path}/${round}/samples/**/*.parquet')`,
      )
      bytes = Number(size?.bytes)
      rounds.push({ copy, whole, bytes, copied: (await stat(FILE)).size })
    }
    const dir = join(folder.path, '0')
    const nothing = await timed(() => exportInto(dir))
    await bench.client.query(
      `update training.activity_intensity set ftp = ftp where activity_id = (select min(activity_id) from training.activities)`,
    )
    const one = await timed(() => exportInto(dir))
    const postgres = await timed(() => bench.client.query(`select ${SUM} training.samples`))
    const duckdb = await timed(() => queryDuckDb(`select ${SUM} '${dir}/samples/**/*.parquet'`))
    const of = (pick: (round: (typeof rounds)[number]) => number) => median(rounds.map(pick))
    const rate = (ms: number) => `${Math.round(SAMPLES / ms).toLocaleString('en')} k samples/s`
    return [
      {
        what: 'bytes a sample in Parquet',
        value: (of(({ bytes }) => bytes) / SAMPLES).toFixed(1),
        goal: '<= 25',
      },
      { what: "the same in psql's binary COPY", value: (of(({ copied }) => copied) / SAMPLES).toFixed(1) },
      { what: 'export --all, from the first query to the manifest', value: rate(of(({ whole }) => whole)) },
      { what: "psql's binary COPY out", value: rate(of(({ copy }) => copy)) },
      {
        what: 'export / COPY, each round',
        value: rounds.map(({ copy, whole }) => (copy / whole).toFixed(2)).join('  '),
      },
      {
        what: 'an export of nothing new, to a whole one',
        value: (nothing / of(({ whole }) => whole)).toFixed(3),
      },
      {
        what: 'an export after one ride has changed, to a whole one',
        value: (one / of(({ whole }) => whole)).toFixed(2),
      },
      { what: "DuckDB's sum over all samples / Postgres's, in time", value: (duckdb / postgres).toFixed(2) },
    ]
  } finally {
    await store.close()
    await rm(FILE, { force: true })
    await folder.close()
    await bench.close()
  }
}

function copyOut(databaseUrl: string): void {
  const command = `\\copy training.samples to '${FILE}' with (format binary)`
  const end = spawnSync('psql', [databaseUrl, '-q', '-c', command], { encoding: 'utf8' })
  if (end.error || end.status !== 0)
    throw new Error(
      `psql is needed for this part (Debian: postgresql-client): ${end.error?.message ?? end.stderr}`,
    )
}

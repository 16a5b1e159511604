import { openEmbeddedPostgres } from '../../src/embedded/embedded.ts'
import { makeReleaseStack } from '../../src/kit/release-stack.ts'
import { makeSamples } from '../../src/normalize/samples.ts'
import { migrate } from '../../src/store/migrate.ts'
import { copyChunks } from '../../src/store/samples/copy.ts'
import { encodeSamples } from '../../src/store/samples/encode.ts'
import { insertSamples } from '../../src/store/samples/replace.ts'
import { SAMPLE_FIELDS, type Samples } from '../../src/store/samples/samples.ts'
import { samples as samplesTable } from '../../src/store/schema/samples.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { makeSilentLog } from '../support/log.ts'
import { openTempDir } from '../support/temp-dir.ts'

// Prints how fast samples reach the table, as ratios to a COPY of the same bytes made beforehand, taken in one run.
const ACTIVITIES = 60
const SECONDS = 5_400
const INSERT_BATCH = 500
const INSERTED_ACTIVITIES = 4
const COPY = `COPY training.samples FROM STDIN (FORMAT binary)`

type Measure = { way: string; samples: number; seconds: number }

const release = makeReleaseStack()
try {
  const folder = await openTempDir('bench')
  release.defer('folder', () => folder.close())
  const log = makeSilentLog()
  const postgres = await openEmbeddedPostgres({ log }, { dataDir: folder.path })
  release.defer('Postgres', () => postgres.close())
  await migrate({ connectionString: postgres.url, log })
  const store = openStore({ log }, { connectionString: postgres.url })
  release.defer('store', () => store.close())
  const ride = makeRide()
  const measures = [
    await measureCopy(store, ride),
    await measureInsertSamples(store, ride),
    await measureDrizzle(store, ride),
  ]
  print(measures, await findBytesASample(store))
} finally {
  await release.release()
}

function makeRide(): Samples {
  const ride = makeSamples(SECONDS)
  for (let second = 0; second < SECONDS; second++) {
    ride.t[second] = (1_700_000_000 + second) * 1_000
    for (const field of SAMPLE_FIELDS) ride.columns[field][second] = 100 + Math.sin(second / 30) * 50
  }
  return ride
}

async function measureCopy(store: Store, ride: Samples): Promise<Measure> {
  const chunks = Array.from({ length: ACTIVITIES }, (_, id) =>
    [...encodeSamples(id, ride, { outOfRange: 0 })].map((chunk) => Buffer.from(chunk)),
  )
  return measure('COPY of prepared bytes', ACTIVITIES * SECONDS, async () => {
    for (const bytes of chunks) await store.transaction((tx) => copyChunks(tx.client, COPY, bytes))
  })
}

async function measureInsertSamples(store: Store, ride: Samples): Promise<Measure> {
  return measure('encode and COPY, as the mirror does', ACTIVITIES * SECONDS, async () => {
    for (let id = 0; id < ACTIVITIES; id++)
      await store.transaction((tx) => insertSamples(tx, ACTIVITIES + id, ride))
  })
}

async function measureDrizzle(store: Store, ride: Samples): Promise<Measure> {
  const rows = Array.from({ length: SECONDS }, (_, second) => ({
    activityId: 3 * ACTIVITIES,
    t: new Date(ride.t[second] as number),
    ...Object.fromEntries(SAMPLE_FIELDS.map((field) => [field, ride.columns[field][second]])),
  }))
  return measure(`drizzle inserts of ${INSERT_BATCH} rows`, INSERTED_ACTIVITIES * SECONDS, async () => {
    for (let activity = 0; activity < INSERTED_ACTIVITIES; activity++) {
      await store.transaction(async (tx) => {
        for (let start = 0; start < SECONDS; start += INSERT_BATCH) {
          await tx.db.insert(samplesTable).values(rows.slice(start, start + INSERT_BATCH))
        }
      })
    }
  })
}

async function measure(way: string, samples: number, work: () => Promise<void>): Promise<Measure> {
  const startedAt = performance.now()
  await work()
  return { way, samples, seconds: (performance.now() - startedAt) / 1_000 }
}

async function findBytesASample(store: Store): Promise<number> {
  const { rows } = await store.read((tx) =>
    tx.client.query<{ bytes: number }>(
      `select pg_total_relation_size('training.samples')::float8 / count(*) as bytes from training.samples`,
    ),
  )
  return rows[0]?.bytes ?? 0
}

function print(measures: readonly Measure[], bytes: number): void {
  const [first] = measures
  const rate = ({ samples, seconds }: Measure) => samples / seconds
  const lines = measures.map((each) => {
    const ratio = first ? rate(each) / rate(first) : 1
    return `${each.way.padEnd(38)} ${Math.round(rate(each)).toLocaleString('en').padStart(12)} samples/s ${ratio.toFixed(2).padStart(8)}`
  })
  process.stdout.write(
    `${lines.join('\n')}\n${bytes.toFixed(0)} bytes a sample with index, every column filled\n`,
  )
}

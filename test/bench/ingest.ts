import { updateTimeZones } from '../../src/core/mirror/time-zones.ts'
import { normalizeSamples } from '../../src/core/normalize/activity-answer.ts'
import { makeRecorded } from '../../src/core/normalize/by-second.ts'
import { zoneAt } from '../../src/core/normalize/local-start.ts'
import { normalizeMeasures } from '../../src/core/normalize/measures.ts'
import { columnsOf } from '../../src/core/service/wire/wire-activity.ts'
import { replaceDerived } from '../../src/core/store/samples/content.ts'
import { SAMPLE_FIELDS } from '../../src/core/store/samples/encode-samples.ts'
import { samples as samplesTable } from '../../src/core/store/schema/samples.ts'
import { openStore } from '../../src/core/store/store.ts'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { makeSilentLog } from '../kit/log.ts'
import { makeAnswer } from './answers.ts'
import {
  type Bench,
  type BenchInput,
  keepSamples,
  median,
  openBench,
  type Row,
  timed,
  within,
} from './rig.ts'

const RIDES = 100
const SECONDS = 5_400
const SAMPLES = RIDES * SECONDS
const ROUNDS = 3
const INSERT_BATCH = 500
const INSERTED_RIDES = 4

/**
 * ms: from the first request to the last commit, of the whole verb, of its process, and of COPY with the same rows, the mean of one
 * before and one after
 */
type Round = { pass: number; verb: number; process: number; copy: number }

/**
 * Measures a whole `musette sync` of 100 rides of 5,400 samples against psql's own binary COPY of the same rows into the
 * same table, and against inserts of 500 rows, as a Singer target makes them; then what a recalculation leaves behind. The
 * same with the fields of a live service, without gzip, with rounded numbers, and with 600 rides.
 */
export async function benchIngest(): Promise<Row[]> {
  const rides = { rides: RIDES, seconds: SECONDS }
  const others: Array<[condition: string, input: BenchInput, goal?: string]> = [
    ['when the service sends no gzip', { ...rides, plain: true }],
    ['with rounded numbers', { ...rides, kind: 'rounded' }],
    ['for 600 rides', { ...rides, rides: 600, distinct: RIDES }, '>= 0.5'],
  ]
  const rows = await within(measureFullAndLive)
  for (const [condition, input, goal] of others)
    rows.push(...(await within((release) => measureOther(release, condition, input, goal))))
  return rows
}

/** Both in turn, so that each round has a ratio between them. */
async function measureFullAndLive(release: ReleaseStack): Promise<Row[]> {
  const full = await openBench(release, { rides: RIDES, seconds: SECONDS })
  const live = await openBench(release, { rides: RIDES, seconds: SECONDS, kind: 'live' })
  const rounds: Array<{ full: Round; live: Round; inserts: number }> = []
  const [measureFull, measureLive] = [await openRounds(full, RIDES), await openRounds(live, RIDES)]
  for (let round = 0; round < ROUNDS; round++)
    rounds.push({
      full: await measureFull(),
      inserts: (await measureInserts(full)) * (RIDES / INSERTED_RIDES),
      live: await measureLive(),
    })
  const requests = (await full.ask<number[]>('_requests')).length
  return [
    ...rowsOf(rounds.map((round) => ({ ...round.full, inserts: round.inserts }))),
    ...ratiosOf(
      rounds.map((round) => round.live),
      'with the fields of a live service',
    ),
    [
      'time of the pass with the fields of a live service, to without',
      eachRound(rounds, (round) => round.live.pass / round.full.pass),
      '<= 1.5',
    ],
    ...(await measureZones(full, median(rounds.map((round) => round.full.pass)))),
    ...(await measureMeasures(full, median(rounds.map((round) => round.full.pass)))),
    ...(await measureSize(full)),
    ['requests a ride, all in', (requests / (ROUNDS + 1) / RIDES).toFixed(2)],
  ]
}

async function measureOther(
  release: ReleaseStack,
  condition: string,
  input: BenchInput,
  goal?: string,
): Promise<Row[]> {
  const bench = await openBench(release, input)
  const rounds: Round[] = []
  const measure = await openRounds(bench, input.rides)
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measure())
  return ratiosOf(rounds, condition, goal)
}

/** Makes the rows of all rides once, for COPY, and returns what measures a round. */
async function openRounds(bench: Bench, rides: number): Promise<() => Promise<Round>> {
  await bench.musette(['sync'])
  const copy = keepSamples(bench)
  return async () => {
    const before = await copy()
    await empty(
      bench,
      'training.samples',
      'training.activities',
      'training.sync_cursors',
      'training.sync_runs',
    )
    const startedAt = Date.now()
    let verb = 0
    const process = await timed(async () => {
      const counts = JSON.parse(await bench.musette(['sync', '--json'])) as {
        fetched: number
        duration_ms: number
      }
      if (counts.fetched !== rides) throw new Error(`${counts.fetched} rides came`)
      verb = counts.duration_ms
    })
    const pass = await readPass(bench, startedAt)
    const after = await copy()
    await empty(bench, 'training.samples')
    return { pass, verb, process, copy: (before + after) / 2 }
  }
}

/** How long the pass since `startedAt` took, ms: from the first request, by the service, to behind the last commit, by its records. */
async function readPass(bench: Bench, startedAt: number): Promise<number> {
  const firstAt = (await bench.ask<number[]>('_requests')).find((at) => at >= startedAt) ?? Number.NaN
  const { rows } = await bench.client.query<{ ended: number }>(
    `select extract(epoch from max(finished_at))::float8 * 1000 as ended from training.sync_runs`,
  )
  return (rows[0]?.ended ?? Number.NaN) - firstAt
}

async function measureInserts(bench: Bench): Promise<number> {
  const store = openStore({ log: makeSilentLog() }, { connectionString: bench.databaseUrl })
  const answer = JSON.parse(String(makeAnswer({ ride: 1, seconds: SECONDS, version: 0, kind: 'full' })))
  const wire = columnsOf(answer.session_data)
  if (!wire) throw new Error('the answer has too many samples')
  const { samples } = normalizeSamples(wire)
  const rows = Array.from({ length: SECONDS }, (_, second) => ({
    activityId: 1,
    t: new Date(samples.t[second] as number),
    ...Object.fromEntries(
      SAMPLE_FIELDS.map((field) => {
        const value = samples.columns[field][second] as number
        return [field === 'p_raw' ? 'pRaw' : field, Number.isNaN(value) ? null : value]
      }),
    ),
  }))
  const taken = await timed(async () => {
    for (let ride = 0; ride < INSERTED_RIDES; ride++) {
      await store.transaction(async (tx) => {
        for (let start = 0; start < SECONDS; start += INSERT_BATCH)
          await tx.db.insert(samplesTable).values(rows.slice(start, start + INSERT_BATCH))
      })
    }
  })
  await store.close()
  return taken
}

function rowsOf(rounds: ReadonlyArray<Round & { inserts: number }>): Row[] {
  const rate = (ms: number) => `${Math.round(SAMPLES / ms).toLocaleString('en')} k samples/s`
  const of = (pick: (round: Round & { inserts: number }) => number) => median(rounds.map(pick))
  return [
    ["psql's binary COPY", rate(of(({ copy }) => copy))],
    ['the pass of `musette sync`: first request to last commit', rate(of(({ pass }) => pass))],
    ['all of it: first connection to the end of the maintenance', rate(of(({ verb }) => verb))],
    ['the same with the start of its process', rate(of(({ process }) => process))],
    [`inserts of ${INSERT_BATCH} rows through drizzle`, rate(of(({ inserts }) => inserts))],
    ['pass / COPY', eachRound(rounds, ({ copy, pass }) => copy / pass), '>= 0.45'],
    ['all of it / COPY', eachRound(rounds, ({ copy, verb }) => copy / verb)],
    ['process / COPY', eachRound(rounds, ({ copy, process }) => copy / process), '>= 0.38'],
    ['pass / inserts', eachRound(rounds, ({ inserts, pass }) => inserts / pass), '>= 15'],
  ]
}

function ratiosOf(rounds: readonly Round[], condition: string, goal?: string): Row[] {
  return [
    [`pass / COPY ${condition}`, eachRound(rounds, ({ copy, pass }) => copy / pass), goal],
    [`process / COPY ${condition}`, eachRound(rounds, ({ copy, process }) => copy / process)],
  ]
}

function eachRound<T>(rounds: readonly T[], pick: (round: T) => number): string {
  return rounds.map((round) => pick(round).toFixed(2)).join('  ')
}

/** Measures what the time zones cost: the library once in a process; a place for each ride and the comparison at the end of a pass. */
async function measureZones(bench: Bench, pass: number): Promise<Row[]> {
  const store = openStore({ log: makeSilentLog() }, { connectionString: bench.databaseUrl })
  const { rows } = await bench.client.query<{ account_id: number; start_lat: number; start_lng: number }>(
    'select account_id, start_lat, start_lng from training.activities',
  )
  const first = await timed(() => zoneAt(rows[0]?.start_lat ?? 0, rows[0]?.start_lng ?? 0))
  await store.read((tx) => tx.client.query('select'))
  const taken = await timed(async () => {
    for (const { start_lat: lat, start_lng: lng } of rows) zoneAt(lat, lng)
    await updateTimeZones({ store, log: makeSilentLog() }, { accountId: rows[0]?.account_id ?? 0 })
  })
  await store.close()
  return [
    ['time zones of all rides, to the pass', (taken / pass).toFixed(4), '<= 0.01'],
    ['the first time zone of a process', `${first.toFixed(0)} ms`],
  ]
}

/** Measures what the measures of all rides cost: to compute them, and to write them in transactions of ten. */
async function measureMeasures(bench: Bench, pass: number): Promise<Row[]> {
  const store = openStore({ log: makeSilentLog() }, { connectionString: bench.databaseUrl })
  const { rows } = await bench.client.query<{ activity_id: number }>(
    'select activity_id from training.activities order by 1',
  )
  const rides = rows.map(({ activity_id: activityId }, ride) => {
    const answer = JSON.parse(String(makeAnswer({ ride, seconds: SECONDS, version: 0, kind: 'full' })))
    const wire = columnsOf(answer.session_data)
    if (!wire) throw new Error('the answer has too many samples')
    const { samples } = normalizeSamples(wire)
    return { activityId, samples, recorded: makeRecorded(samples) }
  })
  await bench.client.query('truncate training.ride_measures')
  await store.read((tx) => tx.client.query('select'))
  const measured: Parameters<typeof replaceDerived>[1][number][] = []
  const computed = await timed(async () => {
    for (const { activityId, samples, recorded } of rides) {
      const measures = normalizeMeasures(samples, 250, recorded)
      if (measures) measured.push({ activityId, measures })
    }
  })
  const written = await timed(async () => {
    for (let start = 0; start < measured.length; start += 10)
      await store.transaction((tx) => replaceDerived(tx, measured.slice(start, start + 10), []))
  })
  await store.close()
  return [
    ['measures of all rides, to the pass', ((computed + written) / pass).toFixed(3), '<= 0.1'],
    ['of that, to compute them', (computed / pass).toFixed(3)],
  ]
}

async function measureSize(bench: Bench): Promise<Row[]> {
  await empty(bench, 'training.samples', 'training.activities', 'training.sync_cursors')
  await bench.musette(['sync'])
  const fresh = await sizeOf(bench)
  await bench.ask('_recalculate')
  const counts = JSON.parse(await bench.musette(['sync', '--json'])) as { fetched: number }
  if (counts.fetched !== RIDES) throw new Error(`${counts.fetched} rides were recalculated`)
  await bench.client.query('vacuum training.samples')
  const worn = await sizeOf(bench)
  const { rows } = await bench.client.query<{ id: number }>(
    'select activity_id as id from training.activities',
  )
  const reads: number[] = []
  for (const { id } of rows) {
    reads.push(
      await timed(() => bench.client.query('select * from training.samples where activity_id = $1', [id])),
    )
  }
  const plan = await bench.client.query<{ 'QUERY PLAN': [{ 'Execution Time': number }] }>(
    `explain (analyze, format json) select * from training.samples where activity_id = ${rows[50]?.id}`,
  )
  return [
    ['bytes a sample, with index', (fresh / SAMPLES).toFixed(1), '<= 105'],
    ['size of the table after every ride was replaced, to before', (worn / fresh).toFixed(2), '< 2'],
    [
      'one ride read after that, in Postgres',
      `${plan.rows[0]?.['QUERY PLAN'][0]['Execution Time'].toFixed(1)} ms`,
      '< 10 ms',
    ],
    ['the same, with its 5,400 rows as JavaScript objects', `${median(reads).toFixed(1)} ms`],
  ]
}

async function sizeOf(bench: Bench): Promise<number> {
  const { rows } = await bench.client.query<{ bytes: number }>(
    `select pg_total_relation_size('training.samples')::float8 as bytes`,
  )
  return rows[0]?.bytes ?? Number.NaN
}

async function empty(bench: Bench, ...tables: readonly string[]): Promise<void> {
  await bench.client.query(`truncate ${tables.join(', ')} cascade`)
  await bench.client.query('checkpoint')
}

import { normalizeSamples } from '../../src/core/normalize/activity-answer.ts'
import { makeRecorded } from '../../src/core/normalize/by-second.ts'
import { normalizeMeasures } from '../../src/core/normalize/measures.ts'
import { columnsOf } from '../../src/core/service/wire/wire-activity.ts'
import { replaceDerived } from '../../src/core/store/samples/content.ts'
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

/**
 * ms: from the first request to the last commit, of the whole verb, of its process, and of COPY with the same rows, the mean of one
 * before and one after
 */
type Round = { pass: number; verb: number; process: number; copy: number }

/**
 * Measures a whole `musette sync` of 100 rides of 5,400 samples against psql's own binary COPY of the same rows into the same
 * table. The same with the fields of a live service, with rounded numbers, and with 600 rides.
 */
export async function benchIngest(): Promise<Row[]> {
  const rides = { rides: RIDES, seconds: SECONDS }
  const others: Array<[condition: string, input: BenchInput, goal?: string]> = [
    [' with the fields of a live service', { ...rides, kind: 'live' }],
    [' with rounded numbers', { ...rides, kind: 'rounded' }],
    [' for 600 rides', { ...rides, rides: 600, distinct: RIDES }, '>= 0.5'],
  ]
  const rows = await within((release) => measureFull(release, rides))
  for (const [condition, input, goal] of others) {
    const { rounds } = await within((release) => measure(release, input))
    rows.push(...ratiosOf(rounds, condition, goal))
  }
  return rows
}

async function measureFull(release: ReleaseStack, input: BenchInput): Promise<Row[]> {
  const { bench, bytes, rounds } = await measure(release, input)
  const rate = (pick: (round: Round) => number) =>
    `${Math.round(SAMPLES / median(rounds.map(pick))).toLocaleString('en')} k samples/s`
  return [
    ["psql's binary COPY", rate(({ copy }) => copy)],
    ['the pass of `musette sync`: first request to last commit', rate(({ pass }) => pass)],
    ['all of it: first connection to the end of the maintenance', rate(({ verb }) => verb)],
    ['the same with the start of its process', rate(({ process }) => process)],
    ...ratiosOf(rounds, '', '>= 0.45'),
    ...(await measureMeasures(bench, median(rounds.map(({ pass }) => pass)))),
    ['bytes a sample, with index', (bytes / SAMPLES).toFixed(1), '<= 105'],
  ]
}

/** Measures rounds of a pass between two COPYs of its rows, and the bytes of the table after a first one. */
async function measure(release: ReleaseStack, input: BenchInput) {
  const bench = await openBench(release, input)
  await bench.musette(['sync'])
  const { rows } = await bench.client.query<{ bytes: number }>(
    `select pg_total_relation_size('training.samples')::float8 as bytes`,
  )
  const copy = keepSamples(bench)
  const rounds: Round[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = await copy()
    await bench.client.query(
      'truncate training.samples, training.activities, training.sync_cursors, training.sync_runs cascade',
    )
    await bench.client.query('checkpoint')
    const startedAt = Date.now()
    let verb = 0
    const process = await timed(async () => {
      const counts: { fetched: number; duration_ms: number } = JSON.parse(
        await bench.musette(['sync', '--json']),
      )
      if (counts.fetched !== input.rides) throw new Error(`${counts.fetched} rides came`)
      verb = counts.duration_ms
    })
    const pass = await readPass(bench, startedAt)
    rounds.push({ pass, verb, process, copy: (before + (await copy())) / 2 })
  }
  return { bench, bytes: rows[0]?.bytes ?? Number.NaN, rounds }
}

/** How long the pass since `startedAt` took, ms: from the first request, by the service, to behind the last commit, by its records. */
async function readPass(bench: Bench, startedAt: number): Promise<number> {
  const firstAt = (await bench.ask<number[]>('_requests')).find((at) => at >= startedAt) ?? Number.NaN
  const { rows } = await bench.client.query<{ ended: number }>(
    `select extract(epoch from max(finished_at))::float8 * 1000 as ended from training.sync_runs`,
  )
  return (rows[0]?.ended ?? Number.NaN) - firstAt
}

function ratiosOf(rounds: readonly Round[], condition: string, goal?: string): Row[] {
  const each = (pick: (round: Round) => number) => rounds.map((round) => pick(round).toFixed(2)).join('  ')
  return [
    [`pass / COPY${condition}`, each(({ copy, pass }) => copy / pass), goal],
    [`process / COPY${condition}`, each(({ copy, process }) => copy / process)],
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
  const taken = await timed(async () => {
    for (let start = 0; start < rides.length; start += 10) {
      const measured = rides.slice(start, start + 10).flatMap(({ activityId, samples, recorded }) => {
        const measures = normalizeMeasures(samples, 250, recorded)
        return measures ? [{ activityId, measures }] : []
      })
      await store.transaction((tx) => replaceDerived(tx, measured, []))
    }
  })
  await store.close()
  return [['measures of all rides, computed and written, to the pass', (taken / pass).toFixed(3), '<= 0.1']]
}

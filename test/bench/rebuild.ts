import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { type Bench, keepSamples, median, openBench, type Row } from './rig.ts'

const RIDES = 200
const DISTINCT = 100
const SECONDS = 5_400
const SAMPLES = RIDES * SECONDS
const ROUNDS = 3

/** ms: of the verb over a mirror that is right, and over one whose every sample is wrong, and of COPY with the same rows */
type Round = { right: number; wrong: number; copy: number }

/**
 * Measures `musette rebuild` of 200 rides of 5,400 samples, with every digit, as its own process, against psql's own binary COPY of
 * the same rows into the emptied table.
 */
export async function benchRebuild(release: ReleaseStack): Promise<Row[]> {
  const bench = await openBench(release, { rides: RIDES, seconds: SECONDS, distinct: DISTINCT })
  await bench.musette(['sync'])
  const rounds: Round[] = []
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measureRound(bench))
  return rowsOf(rounds)
}

async function measureRound(bench: Bench): Promise<Round> {
  await bench.client.query('vacuum analyze training.samples')
  const right = await rebuild(bench)
  await bench.client.query('update training.samples set power = -1')
  await bench.client.query('vacuum analyze training.samples')
  const wrong = await rebuild(bench)
  const copy = await keepSamples(bench)()
  return { right, wrong, copy }
}

/** Returns how long it took, ms, by its own clock. */
async function rebuild(bench: Bench): Promise<number> {
  const counts = JSON.parse(await bench.musette(['rebuild', '--json'])) as Record<string, number>
  if (counts.samples !== SAMPLES) throw new Error(`${counts.samples} samples were rebuilt`)
  return counts.duration_ms ?? Number.NaN
}

function rowsOf(rounds: readonly Round[]): Row[] {
  const rate = (ms: number) => `${Math.round(SAMPLES / ms).toLocaleString('en')} k samples/s`
  const each = (pick: (round: Round) => number) => rounds.map((round) => pick(round).toFixed(2)).join('  ')
  const [right, wrong] = [median(rounds.map((one) => one.right)), median(rounds.map((one) => one.wrong))]
  return [
    ["psql's binary COPY", rate(median(rounds.map(({ copy }) => copy)))],
    ['musette rebuild where the samples are right', rate(right)],
    ['musette rebuild where every sample is wrong', rate(wrong)],
    [
      '3,000 activities of 5,400 samples that are right, at that rate',
      `${((right * 3_000) / RIDES / 1_000).toFixed(0)} s`,
      'about 60 s',
    ],
    ['rebuild where they are right / COPY', each((one) => one.copy / one.right)],
    ['rebuild where they are wrong / COPY', each((one) => one.copy / one.wrong)],
  ]
}

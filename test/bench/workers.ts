import { setTimeout as pause } from 'node:timers/promises'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { findRedisBinary } from '../kit/binaries.ts'
import { distPath, startNode } from '../kit/processes.ts'
import { memoryOf } from './process.ts'
import { type Bench, openBench, openRedis, type Row, within } from './rig.ts'

const RIDES = 600
const SECONDS = 5_400

/** Measures how fast several daemons on this machine mirror one long history, with the service and the database beside them. */
export async function benchWorkers(): Promise<Row[]> {
  if (!findRedisBinary()) return [['several daemons', 'no redis-server here']]
  const rows: Row[] = []
  for (const workers of [1, 2, 4]) rows.push(...(await within((release) => measureWorkers(release, workers))))
  return rows
}

async function measureWorkers(release: ReleaseStack, workers: number): Promise<Row[]> {
  const bench = await openBench(release, { rides: RIDES, seconds: SECONDS, distinct: 20 })
  const redis = await openRedis(release)
  const env = { ...bench.env, REDIS_URL: redis?.url ?? '' }
  const running = Array.from({ length: workers }, () => startNode([distPath('main.js'), 'start'], { env }))
  release.defer('daemons', () => Promise.all(running.map((daemon) => daemon.kill('SIGKILL'))))
  const [first, last] = [await mirrored(bench, RIDES / 10), await mirrored(bench, (RIDES * 9) / 10)]
  const rate = (last.rides - first.rides) / ((last.at - first.at) / 1_000)
  const peaks = running.map(({ pid }) => memoryOf(pid)?.peakMb ?? Number.NaN)
  const what = `${workers} ${workers === 1 ? 'daemon' : 'daemons'} on this machine, rides of 5,400 samples, Redis`
  return [
    [what, `${rate.toFixed(0)} rides a second`],
    ['the most memory that one of them held', `${Math.max(...peaks).toFixed(0)} MB`],
  ]
}

async function mirrored(bench: Bench, least: number): Promise<{ rides: number; at: number }> {
  for (;;) {
    const { rows } = await bench.client.query<{ rides: number }>(
      `select count(*)::int as rides from training.activities where detail_state = 'mirrored'`,
    )
    const rides = rows[0]?.rides ?? 0
    if (rides >= least) return { rides, at: performance.now() }
    await pause(20)
  }
}

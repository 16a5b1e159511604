import { setTimeout as pause } from 'node:timers/promises'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { distPath, startNode } from '../kit/processes.ts'
import { memoryOf, processorSecondsOf } from './process.ts'
import { openBench, openRedis, type Row } from './rig.ts'

/** The first polls, and the collector of garbage after them, are over by then. */
const SETTLE_MS = 30_000
const WATCH_MS = 60_000

/** Measures what a daemon with one mirrored account costs while nothing happens, on both backends. */
export async function benchIdle(release: ReleaseStack): Promise<Row[]> {
  const bench = await openBench(release, { rides: 100, seconds: 600, distinct: 10 })
  await bench.musette(['sync'])
  const rows = await watch('Postgres', bench.env)
  const redis = await openRedis(release)
  if (!redis) return rows
  return [...rows, ...(await watch('Redis', { ...bench.env, REDIS_URL: redis.url }))]
}

async function watch(queue: string, env: Record<string, string>): Promise<Row[]> {
  const daemon = startNode([distPath('main.js'), 'start'], { env })
  await daemon.waitForLine(/"started"/)
  await pause(SETTLE_MS)
  const before = processorSecondsOf(daemon.pid)
  await pause(WATCH_MS)
  const used = processorSecondsOf(daemon.pid) - before
  const memory = memoryOf(daemon.pid)
  await daemon.kill()
  return [
    [`an idle daemon's memory, queue in ${queue}`, `${memory?.nowMb.toFixed(0)} MB`, '< 130 MB'],
    [
      `an idle daemon's processor, queue in ${queue}`,
      `${((used / WATCH_MS) * 100_000).toFixed(2)} %`,
      '< 0.5 %',
    ],
  ]
}

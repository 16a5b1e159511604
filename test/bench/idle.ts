import { setTimeout as pause } from 'node:timers/promises'
import { findRedisBinary } from '../kit/binaries.ts'
import { distPath, startNode } from '../kit/processes.ts'
import { openRedisServer } from '../kit/redis-server.ts'
import { memoryOf, processorSecondsOf } from './process.ts'
import { openBench, type Row } from './rig.ts'

/** The first polls, and the collector of garbage after them, are over by then. */
const SETTLE_MS = 30_000
const WATCH_MS = 60_000

/** Measures what a daemon with one mirrored account costs while nothing happens, on both backends. */
export async function benchIdle(): Promise<Row[]> {
  const bench = await openBench({ rides: 100, seconds: 600, distinct: 10 })
  try {
    await bench.musette(['sync'])
    const rows = await watch('Postgres', bench.env)
    const binary = findRedisBinary()
    if (!binary) return rows
    const redis = await openRedisServer(binary)
    rows.push(...(await watch('Redis', { ...bench.env, REDIS_URL: redis.url })))
    await redis.close()
    return rows
  } finally {
    await bench.close()
  }
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
    {
      what: `an idle daemon's memory, queue in ${queue}`,
      value: `${memory?.nowMb.toFixed(0)} MB`,
      goal: '< 130 MB',
    },
    {
      what: `an idle daemon's processor, queue in ${queue}`,
      value: `${((used / WATCH_MS) * 100_000).toFixed(2)} %`,
      goal: '< 0.5 %',
    },
  ]
}

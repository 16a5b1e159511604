import { setTimeout as pause } from 'node:timers/promises'
import type { BackendChoice } from '../../src/core/jobs/backend.ts'
import { makeCoreCatalog } from '../../src/core/jobs/catalog.ts'
import { type Jobs, openJobs } from '../../src/core/jobs/jobs.ts'
import { wantedSchedules } from '../../src/core/jobs/schedules.ts'
import { openEmbeddedPostgres } from '../../src/embedded/embedded.ts'
import { MINUTE } from '../../src/kit/time.ts'
import { handlersOf } from '../core/jobs/handlers.ts'
import { findRedisBinary } from '../kit/binaries.ts'
import { readConfig } from '../kit/config.ts'
import { makeSilentLog } from '../kit/log.ts'
import { openRedisServer } from '../kit/redis-server.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { type Row, timed } from './rig.ts'

const JOBS = 10_000
const ACCOUNTS = 1_000
const CATALOG = makeCoreCatalog(readConfig({}))

/** Measures what the queue costs on both backends, and how evenly the polls of many accounts are spread. */
export async function benchQueue(): Promise<Row[]> {
  const log = makeSilentLog()
  const folder = await openTempDir('bench-queue')
  const rows = [measureSpread()]
  try {
    const postgres = await openEmbeddedPostgres({ log }, { dataDir: folder.path })
    rows.push(...(await measure({ kind: 'postgres', url: postgres.url })))
    await postgres.close()
    const binary = findRedisBinary()
    if (!binary) return [...rows, { what: 'the same on Redis', value: 'no redis-server here' }]
    const redis = await openRedisServer(binary)
    rows.push(...(await measure({ kind: 'redis', url: redis.url, prefix: '{musette-bench}' })))
    await redis.close()
    return rows
  } finally {
    await folder.close()
  }
}

async function measure(backend: BackendChoice): Promise<Row[]> {
  let done = 0
  const open = (worker: boolean): Promise<Jobs> =>
    openJobs(
      {
        log: makeSilentLog(),
        handlers: handlersOf(async () => {
          done += 1
          return undefined
        }),
        signal: new AbortController().signal,
        accounts: async () => [],
      },
      { backend, roles: { worker }, catalog: CATALOG, concurrency: 4 },
    )
  const payloads = Array.from({ length: JOBS }, (_, index) => ({ accountId: 1, activityId: index + 1 }))
  const producer = await open(false)
  const first = await timed(() => producer.enqueue('fetch-activity', payloads))
  const again = await timed(() => producer.enqueue('fetch-activity', payloads))
  const before = process.cpuUsage()
  const worker = await open(true)
  worker.work()
  const taken = await timed(async () => {
    while (done < JOBS) await pause(20)
  })
  const { user, system } = process.cpuUsage(before)
  await worker.close()
  await producer.close()
  const on = backend.kind === 'redis' ? 'Redis' : 'Postgres'
  return [
    { what: `10,000 wanted activities enqueued, ${on}`, value: seconds(first), goal: 'seconds' },
    { what: `the same again, all of them there already, ${on}`, value: seconds(again) },
    { what: `jobs that do nothing, ${on}`, value: `${Math.round((JOBS / taken) * 1_000)} a second` },
    {
      what: `processor time of the daemon for one of them, ${on}`,
      value: `${((user + system) / 1_000 / JOBS).toFixed(2)} ms`,
    },
  ]
}

/** How many polls of 1,000 accounts fall into each minute of their 15. */
function measureSpread(): Row {
  const ids = Array.from({ length: ACCOUNTS }, (_, index) => index + 1)
  const minutes = new Array<number>(CATALOG['poll-activities'].schedule.everyMs / MINUTE).fill(0)
  for (const { name, offset } of wantedSchedules(ids, CATALOG)) {
    const minute = Math.floor(offset / MINUTE)
    if (name === 'poll-activities') minutes[minute] = (minutes[minute] ?? 0) + 1
  }
  return {
    what: 'polls of 1,000 accounts in each of 15 minutes, least and most',
    value: `${Math.min(...minutes)} to ${Math.max(...minutes)}`,
    goal: 'about 67',
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`
}

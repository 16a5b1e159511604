import { setTimeout as pause } from 'node:timers/promises'
import type { BackendChoice } from '../../src/core/jobs/backend.ts'
import { makeCoreCatalog } from '../../src/core/jobs/catalog.ts'
import { type Jobs, openJobs } from '../../src/core/jobs/jobs.ts'
import { wantedSchedules } from '../../src/core/jobs/schedules.ts'
import { openEmbeddedPostgres } from '../../src/embedded/embedded.ts'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { MINUTE } from '../../src/kit/time.ts'
import { handlersOf } from '../core/jobs/handlers.ts'
import { readConfig } from '../kit/config.ts'
import { makeSilentLog } from '../kit/log.ts'
import { openFolder, openRedis, type Row, seconds, timed } from './rig.ts'

const JOBS = 10_000
const ACCOUNTS = 1_000
const CATALOG = makeCoreCatalog(readConfig({}))

/** Measures what the queue costs on both backends, and how evenly the polls of many accounts are spread. */
export async function benchQueue(release: ReleaseStack): Promise<Row[]> {
  const log = makeSilentLog()
  const rows = [measureSpread()]
  const postgres = await openEmbeddedPostgres({ log }, { dataDir: await openFolder(release) })
  release.defer('Postgres', () => postgres.close())
  rows.push(...(await measure({ kind: 'postgres', url: postgres.url })))
  const redis = await openRedis(release)
  if (!redis) return [...rows, ['the same on Redis', 'no redis-server here']]
  rows.push(...(await measure({ kind: 'redis', url: redis.url, prefix: '{musette-bench}' })))
  return rows
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
    [`10,000 wanted activities enqueued, ${on}`, seconds(first), 'seconds'],
    [`the same again, all of them there already, ${on}`, seconds(again)],
    [`jobs that do nothing, ${on}`, `${Math.round((JOBS / taken) * 1_000)} a second`],
    [
      `processor time of the daemon for one of them, ${on}`,
      `${((user + system) / 1_000 / JOBS).toFixed(2)} ms`,
    ],
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
  return [
    'polls of 1,000 accounts in each of 15 minutes, least and most',
    `${Math.min(...minutes)} to ${Math.max(...minutes)}`,
    'about 67',
  ]
}

import { type BackendChoice, fetchRedisFacts } from '../../src/core/jobs/backend.ts'
import { makeCoreCatalog } from '../../src/core/jobs/catalog.ts'
import { type Jobs, openJobs } from '../../src/core/jobs/jobs.ts'
import { openApp } from '../../src/program/app/app.ts'
import { makeHandlers } from '../../src/program/daemon/handlers.ts'
import { handlersOf } from '../core/jobs/handlers.ts'
import { findRedisBinary } from '../kit/binaries.ts'
import { readConfig } from '../kit/config.ts'
import { makeSilentLog } from '../kit/log.ts'
import { queryOnce } from '../kit/postgres.ts'
import { openRedisServer } from '../kit/redis-server.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { type Row, timed } from './rig.ts'

const CLUBS = [1_000, 10_000] as const
const CATALOG = makeCoreCatalog(readConfig({}))

/** Measures what a club costs the daemon before anybody rides: schedules and sweeps of 1,000 and 10,000 accounts. */
export async function benchClub(): Promise<Row[]> {
  const rows: Row[] = []
  const binary = findRedisBinary()
  for (const accounts of CLUBS) {
    rows.push(...(await measureClub(accounts)))
    if (!binary) continue
    const redis = await openRedisServer(binary)
    const memory = async () => (await fetchRedisFacts(redis.url)).usedMemory / 1_000_000
    const before = await memory()
    rows.push(
      ...(await measureSchedules({ kind: 'redis', url: redis.url, prefix: '{musette-bench}' }, accounts)),
    )
    rows.push({ what: `memory of Redis for them`, value: `${((await memory()) - before).toFixed(1)} MB` })
    await redis.close()
  }
  return rows
}

async function measureClub(accounts: number): Promise<Row[]> {
  const log = makeSilentLog()
  const folder = await openTempDir('bench-club')
  const app = await openApp(readConfig({ MUSETTE_DATA_DIR: folder.path, MUSETTE_HTTP: 'off' }), log, {
    features: [],
  })
  try {
    await queryOnce(
      app.databaseUrl,
      `insert into training.accounts (name, base_url, needs_login)
       select 'rider-' || n, 'http://127.0.0.1:1', false from generate_series(1, ${accounts}) as n`,
    )
    const jobs = await openIdleJobs({ kind: 'postgres', url: app.databaseUrl }, [])
    const handlers = makeHandlers(app, () => jobs)
    const sweep = () => handlers.sweep({}, { signal: new AbortController().signal, log })
    await sweep()
    const swept = await timed(sweep)
    await jobs.close()
    return [
      {
        what: `one sweep of ${count(accounts)} accounts with nothing to do`,
        value: seconds(swept),
        goal: 'far below 10 s',
      },
      ...(await measureSchedules({ kind: 'postgres', url: app.databaseUrl }, accounts)),
    ]
  } finally {
    await app.close()
    await folder.close()
  }
}

async function measureSchedules(backend: BackendChoice, accounts: number): Promise<Row[]> {
  const ids = Array.from({ length: accounts }, (_, index) => index + 1)
  const jobs = await openIdleJobs(backend, ids)
  const made = await timed(() => jobs.keepSchedules())
  const compared = await timed(() => jobs.keepSchedules())
  await jobs.close()
  const on = `${count(accounts)} accounts, ${backend.kind === 'redis' ? 'Redis' : 'Postgres'}`
  return [
    { what: `schedules made and run once, ${on}`, value: seconds(made) },
    { what: `the same compared, as once a minute, ${on}`, value: seconds(compared), goal: 'seconds' },
  ]
}

/** Opens queues that nobody works on. */
function openIdleJobs(backend: BackendChoice, ids: number[]): Promise<Jobs> {
  const deps = {
    log: makeSilentLog(),
    handlers: handlersOf(async () => undefined),
    accounts: async () => ids,
  }
  const signal = new AbortController().signal
  return openJobs(
    { ...deps, signal },
    { backend, roles: { worker: false }, catalog: CATALOG, concurrency: 4 },
  )
}

function count(value: number): string {
  return value.toLocaleString('en')
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`
}

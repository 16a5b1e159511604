import type { BackendChoice } from '../../src/core/jobs/backend.ts'
import { makeCoreCatalog } from '../../src/core/jobs/catalog.ts'
import { type Jobs, openJobs } from '../../src/core/jobs/jobs.ts'
import { fetchRedisFacts } from '../../src/core/jobs/redis.ts'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { openApp } from '../../src/program/app/app.ts'
import { makeHandlers } from '../../src/program/daemon/handlers.ts'
import { handlersOf } from '../core/jobs/handlers.ts'
import { readConfig } from '../kit/config.ts'
import { makeSilentLog } from '../kit/log.ts'
import { queryOnce } from '../kit/postgres.ts'
import { openFolder, openRedis, type Row, seconds, timed, within } from './rig.ts'

const CLUBS = [1_000, 10_000] as const
const CATALOG = makeCoreCatalog(readConfig({}))

/** Measures what a club costs the daemon before anybody rides: schedules and sweeps of 1,000 and 10,000 accounts. */
export async function benchClub(): Promise<Row[]> {
  const rows: Row[] = []
  for (const accounts of CLUBS) {
    rows.push(...(await within((release) => measureClub(release, accounts))))
    rows.push(...(await within((release) => measureRedis(release, accounts))))
  }
  return rows
}

async function measureRedis(release: ReleaseStack, accounts: number): Promise<Row[]> {
  const redis = await openRedis(release)
  if (!redis) return []
  const memory = async () => ((await fetchRedisFacts(redis.url))[0]?.usedMemory ?? 0) / 1_000_000
  const before = await memory()
  const rows = await measureSchedules({ kind: 'redis', url: redis.url, prefix: '{musette-bench}' }, accounts)
  return [...rows, ['memory of Redis for them', `${((await memory()) - before).toFixed(1)} MB`]]
}

async function measureClub(release: ReleaseStack, accounts: number): Promise<Row[]> {
  const log = makeSilentLog()
  const env = { MUSETTE_DATA_DIR: await openFolder(release), MUSETTE_HTTP: 'off' }
  const app = await openApp(readConfig(env), log, { features: [] })
  release.defer('app', () => app.close())
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
    [`one sweep of ${count(accounts)} accounts with nothing to do`, seconds(swept), 'far below 10 s'],
    ...(await measureSchedules({ kind: 'postgres', url: app.databaseUrl }, accounts)),
  ]
}

async function measureSchedules(backend: BackendChoice, accounts: number): Promise<Row[]> {
  const ids = Array.from({ length: accounts }, (_, index) => index + 1)
  const jobs = await openIdleJobs(backend, ids)
  const made = await timed(() => jobs.keepSchedules())
  const compared = await timed(() => jobs.keepSchedules())
  await jobs.close()
  const on = `${count(accounts)} accounts, ${backend.kind === 'redis' ? 'Redis' : 'Postgres'}`
  return [
    [`schedules made and run once, ${on}`, seconds(made)],
    [`the same compared, as once a minute, ${on}`, seconds(compared), 'seconds'],
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

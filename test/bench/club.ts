import { setTimeout as pause } from 'node:timers/promises'
import { Queue } from 'bullmq'
import { type BackendChoice, makeBackendChoice, openBackend } from '../../src/core/jobs/backend.ts'
import { makeCoreCatalog, QUEUE_NAMES } from '../../src/core/jobs/catalog.ts'
import { type Jobs, openJobs } from '../../src/core/jobs/jobs.ts'
import { fetchRedisFacts } from '../../src/core/jobs/redis.ts'
import { findAccounts } from '../../src/core/store/account-rows.ts'
import { findIdentity } from '../../src/core/store/database-facts.ts'
import { openStore } from '../../src/core/store/store.ts'
import { readSecretKeys } from '../../src/core/vault/key-file.ts'
import { recordRider } from '../../src/core/vault/riders.ts'
import { makeKeyring, sealLogin } from '../../src/core/vault/seal.ts'
import { upsertSealed } from '../../src/core/vault/stored-credentials.ts'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { DAY, MINUTE, SECOND } from '../../src/kit/time.ts'
import { handlersOf } from '../core/jobs/handlers.ts'
import { readConfig } from '../kit/config.ts'
import { makeSilentLog } from '../kit/log.ts'
import { distPath, startNode } from '../kit/processes.ts'
import { memoryOf } from './process.ts'
import { type Bench, type ClubSizes, openBench, openRedis, type Row, seconds, timed, within } from './rig.ts'

const PACES = [240, 5_000] as const
/** Daemons on this machine; the first has no scheduler, so that the start of the others does not run every schedule at once. */
const ROLES = ['worker', 'worker,scheduler', 'worker,scheduler,web'] as const
const MAX_POSTGRES = 1_000
const RIDES_EACH = 100
const CATALOG = makeCoreCatalog(readConfig({}))

/**
 * Measures a club with several daemons on one Redis: what its schedules cost, and whether its polls keep up with the service.
 * `npm run bench -- club --accounts 100 --seconds 20` is a small run.
 */
export async function benchClub(_release: ReleaseStack, options: ClubSizes): Promise<Row[]> {
  const rows: Row[] = []
  for (const accounts of options.accounts) {
    rows.push(...(await within((release) => measureClub(release, accounts, options.seconds))))
  }
  return rows
}

async function measureClub(release: ReleaseStack, accounts: number, seconds: number): Promise<Row[]> {
  const redis = await openRedis(release)
  if (!redis) return [['a club', 'no redis-server here']]
  const bench = await openBench(release, { rides: 0, seconds: 1 })
  const on = `${count(accounts)} accounts`
  const identity = await signInAll(bench, accounts)
  await fillRides(bench)
  const backend = makeBackendChoice(redis.url, bench.databaseUrl, identity)
  const env = { ...bench.env, REDIS_URL: redis.url }
  const memory = async () => ((await fetchRedisFacts(redis.url))[0]?.usedMemory ?? 0) / 1_000_000
  const before = await memory()
  const rows: Row[] = [
    ...(await measureSchedules(backend, accounts, 'Redis')),
    [`memory of Redis for them, ${on}`, `${((await memory()) - before).toFixed(1)} MB`],
    // Beyond that the queue in Postgres is not for use, and takes minutes.
    ...(accounts > MAX_POSTGRES
      ? []
      : await measureSchedules({ kind: 'postgres', url: bench.databaseUrl }, accounts, 'Postgres')),
  ]
  for (const pace of PACES) {
    await drain(backend)
    rows.push(...(await within((part) => measurePolls(part, { bench, env, accounts, pace, seconds }))))
  }
  return rows
}

/** Signs in so many riders without a request, each with one token pair that is new. */
async function signInAll(bench: Bench, accounts: number) {
  const store = openStore({ log: makeSilentLog() }, { connectionString: bench.databaseUrl })
  const [secretKey] = readSecretKeys(bench.env.MUSETTE_DATA_DIR ?? '')
  const sealer = makeKeyring({ secretKey }).sealerForNew(new Set())
  const origin = new URL(bench.env.MUSETTE_BASE_URL ?? '').origin
  const now = new Date()
  const pair = {
    ...{ accessToken: 'access', refreshToken: 'refresh', obtainedAt: now },
    expiresAt: new Date(now.getTime() + 30 * DAY),
  }
  await bench.client.query(
    `insert into training.accounts (name, base_url, needs_login)
     select 'rider-' || n, $1, false from generate_series(2, $2::int) as n`,
    [bench.env.MUSETTE_BASE_URL, accounts],
  )
  await store.transaction(async (tx) => {
    for (const { accountId } of await findAccounts(tx)) {
      const login = { clientId: 'service_public', clientSecret: 'service_public', pair }
      const sealed = sealLogin(sealer, { accountId, origin }, login)
      await upsertSealed(tx, sealed)
      await recordRider(tx, sealer, {
        sealed,
        verdict: 'same',
        login: { origin, username: `rider-${accountId}` },
      })
    }
  })
  const identity = await store.read(findIdentity)
  await store.close()
  return identity
}

/** Writes activities without samples for each account, and a cursor, as after a backfill. */
async function fillRides({ client }: Bench): Promise<void> {
  await client.query(`set session_replication_role = replica`)
  await client.query(
    `insert into training.activities (account_id, path, name, activity_type, started_at, timezone, timezone_source, started_at_local, detail_state,
       sample_count, elapsed_s, max_power, avg_power, xss, distance, listed_at, wanted_at)
     select account_id, 'ride' || n, 'Tempo ' || n, 'Cycling', at, 'UTC', 'service', at at time zone 'UTC', 'mirrored',
       0, 600 + n, 800, 100 + n % 200, n % 150, 30, now(), now()
     from training.accounts, generate_series(1, ${RIDES_EACH}) n, lateral (select now() - n * interval '3 days' as at) t`,
  )
  await client.query(
    `insert into training.sync_cursors (account_id, resource, updated_from, advanced_at, list_checked_at)
     select account_id, 'activities', now(), now(), now() from training.accounts on conflict do nothing`,
  )
  await client.query(`reset session_replication_role`)
  await client.query('vacuum analyze training.activities')
}

async function measureSchedules(backend: BackendChoice, accounts: number, where: string): Promise<Row[]> {
  const ids = Array.from({ length: accounts }, (_, index) => index + 1)
  const jobs = await openIdleJobs(backend, ids)
  const made = await timed(() => jobs.keepSchedules())
  const compared = await timed(() => jobs.keepSchedules())
  await jobs.close()
  const on = `${count(accounts)} accounts, ${where}`
  return [
    [`schedules made and run once, ${on}`, seconds(made)],
    [`the same compared, as once a minute, ${on}`, seconds(compared), 'seconds'],
  ]
}

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

/** Removes the jobs that wait, so that only what falls due is measured. */
async function drain(choice: BackendChoice): Promise<void> {
  const { factory, prefix } = await openBackend({ log: makeSilentLog() }, choice)
  for (const name of QUEUE_NAMES) {
    const queue = new Queue(name, { connection: {}, prefix }, factory)
    await queue.drain()
    await queue.close()
  }
}

type Measured = { bench: Bench; env: Record<string, string>; accounts: number; pace: number; seconds: number }

/** Lets daemons poll at a pace, and compares what fell due with what was polled, and what the service got. */
async function measurePolls(release: ReleaseStack, input: Measured): Promise<Row[]> {
  const { bench, accounts, pace } = input
  const concurrency = pace > 1_000 ? '16' : '4'
  const env = { ...input.env, MUSETTE_REQUESTS_PER_MINUTE: String(pace), MUSETTE_CONCURRENCY: concurrency }
  const daemons = []
  for (const roles of ROLES) {
    const daemon = startNode([distPath('main.js'), 'start', '--roles', roles], { env })
    release.defer('daemon', () => daemon.kill('SIGTERM'))
    await daemon.waitForLine(/"msg":"started"/, MINUTE)
    daemons.push(daemon)
  }
  const since = Date.now()
  await pause(input.seconds * SECOND)
  const { rows } = await bench.client.query<{ polls: number; late: number }>(
    `select count(*)::int as polls from training.sync_runs where resource = 'activities' and started_at >= $1`,
    [new Date(since)],
  )
  const requests = (await bench.ask<number[]>('_requests')).filter((at) => at >= since)
  const windows = requests.map((from) => requests.filter((at) => at >= from && at < from + MINUTE).length)
  const due = (accounts * input.seconds * SECOND) / (CATALOG['poll-activities'].schedule.everyMs ?? DAY)
  const peaks = daemons.map(({ pid }) => memoryOf(pid)?.peakMb ?? Number.NaN)
  const on = `${count(accounts)} accounts, ${count(pace)} requests a minute`
  return [
    [`polls in ${input.seconds} s, ${on}`, `${rows[0]?.polls} of ${due.toFixed(0)} due`],
    [`the most requests in any 60 s, ${on}`, `${Math.max(0, ...windows)}`, `at most ${pace}`],
    [`the most memory of ${ROLES.length} daemons, ${on}`, `${Math.max(...peaks).toFixed(0)} MB`],
  ]
}

function count(value: number): string {
  return value.toLocaleString('en')
}

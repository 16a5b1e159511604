import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { migrate } from '../../src/core/store/migrate.ts'
import { SAMPLE_FIELDS } from '../../src/core/store/samples/encode-samples.ts'
import { openEmbeddedPostgres } from '../../src/embedded/embedded.ts'
import { makeReleaseStack, type ReleaseStack } from '../../src/kit/release-stack.ts'
import { findRedisBinary } from '../kit/binaries.ts'
import { connect } from '../kit/connect.ts'
import { makeSilentLog } from '../kit/log.ts'
import { distPath, runNode, startNode } from '../kit/processes.ts'
import { openRedisServer } from '../kit/redis-server.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import type { Kind } from './answers.ts'

/** One line of the table: what was measured, the figure, and what it should be at least or at most. */
export type Row = readonly [what: string, value: string, goal?: string | undefined]

/** A part of the table. What it opens is closed when it ends, the last first. */
export type Part = (release: ReleaseStack, sizes: ClubSizes) => Promise<Row[]>

/** How large a club is, and for how long each of its measurements goes on. */
export type ClubSizes = { accounts: number[]; seconds: number }

/** Runs work, and then closes what it left to the stack. */
export async function within<T>(work: (release: ReleaseStack) => Promise<T>): Promise<T> {
  const release = makeReleaseStack()
  try {
    return await work(release)
  } finally {
    await release.release()
  }
}

export type Bench = Awaited<ReturnType<typeof openBench>>

/** How many rides of how many seconds, how many different ones, and what their numbers are like. */
export type BenchInput = { rides: number; seconds: number; distinct?: number; kind?: Kind }

/** Opens a Postgres with all its safety on, a service with prepared answers, and an account that is signed in. */
export async function openBench(release: ReleaseStack, input: BenchInput) {
  const service = startNode(['--import', 'tsx', 'test/bench/service.ts', JSON.stringify(input)])
  release.defer('service', () => service.kill('SIGKILL'))
  const listening = await service.waitForLine(/^listening/, 120_000)
  const baseUrl = listening.replace('listening ', '').trim()
  const folder = await openFolder(release)
  const log = makeSilentLog()
  const postgres = await openEmbeddedPostgres({ log }, { dataDir: folder })
  release.defer('Postgres', () => postgres.close())
  await migrate({ connectionString: postgres.url, log })
  const client = await connect(postgres.url)
  release.defer('client', () => client.end())
  const env: Record<string, string> = {
    MUSETTE_BASE_URL: baseUrl,
    DATABASE_URL: postgres.url,
    MUSETTE_DATA_DIR: `${folder}/data`,
    MUSETTE_REQUESTS_PER_MINUTE: '1000000',
    MUSETTE_HTTP: '127.0.0.1:0',
  }
  /** Runs a verb of the compiled program to its end; throws when it fails. */
  const musette = async (args: readonly string[], text = '') => {
    const end = await runNode([distPath('main.js'), ...args], { env, input: text, timeoutMs: 900_000 })
    if (end.code !== 0) throw new Error(`musette ${args[0]}: ${end.stderr.slice(0, 500)}`)
    return end.stdout
  }
  await musette(['login', '--username', 'rider', '--password-stdin'], 'rider\n')
  return {
    ...{ databaseUrl: postgres.url, folder, client, env, musette },
    /** asks the prepared service for what no client knows: `_requests`, `_recalculate` */
    ask: async <T>(path: string) => (await (await fetch(`${baseUrl}/${path}`)).json()) as T,
  }
}

export async function openFolder(release: ReleaseStack): Promise<string> {
  const folder = await openTempDir('bench')
  release.defer('folder', () => folder.close())
  return folder.path
}

export async function openRedis(release: ReleaseStack) {
  const binary = findRedisBinary()
  if (!binary) return undefined
  const redis = await openRedisServer(binary)
  release.defer('Redis', () => redis.close())
  return redis
}

/** Runs `work` and returns how long it took, in ms. */
export async function timed(work: () => Promise<unknown> | unknown): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

/** Returns the value that a share of the values are at most: 0.5 for the median, 1 for the highest. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`
}

export const median = (values: readonly number[]) => quantile(values, 0.5)

/** Writes the samples to a file, and returns what measures psql's binary COPY of them into the emptied table, ms. */
export function keepSamples(bench: Bench): () => Promise<number> {
  const table = `training.samples (${['activity_id', 't', ...SAMPLE_FIELDS].join(', ')})`
  const file = join(bench.folder, 'samples.copy')
  psql(bench, `\\copy ${table} to '${file}' with (format binary)`)
  return async () => {
    await bench.client.query('truncate training.samples')
    await bench.client.query('checkpoint')
    return await timed(() => psql(bench, `\\copy ${table} from '${file}' with (format binary)`))
  }
}

/** Starts the program's web server on the bench's database, and returns its address. */
export async function startWeb({
  env,
}: Pick<Bench, 'env'>): Promise<{ url: string; kill(): Promise<unknown> }> {
  const daemon = startNode([distPath('main.js'), 'start', '--roles', 'web'], { env })
  const { url } = JSON.parse(await daemon.waitForLine(/"msg":"started"/)) as { url: string }
  return { url, kill: () => daemon.kill() }
}

/** Fetches an address in gzip, and returns the bytes that were sent, without the head; throws when the answer is an error. */
export async function read(address: string): Promise<number> {
  const answer = await fetch(address, { headers: { 'accept-encoding': 'gzip' } })
  const plain = await answer.arrayBuffer()
  if (!answer.ok) throw new Error(`${new URL(address).pathname} answers ${answer.status}`)
  return Number(answer.headers.get('content-length') ?? plain.byteLength)
}

/** Returns the address of the bench's database for psql. */
export function urlForPsql({ databaseUrl }: Pick<Bench, 'databaseUrl'>): string {
  const url = new URL(databaseUrl)
  // A psql before version 16 refuses it.
  url.searchParams.delete('require_auth')
  return url.href
}

/** Runs a command of psql on the bench's database; throws when psql is missing or fails. */
export function psql(bench: Pick<Bench, 'databaseUrl'>, command: string): void {
  const end = spawnSync('psql', [urlForPsql(bench), '-q', '-c', command], { encoding: 'utf8' })
  if (end.error || end.status !== 0)
    throw new Error(
      `psql is needed for this part (Debian: postgresql-client): ${end.error?.message ?? end.stderr}`,
    )
}

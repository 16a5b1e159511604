import { randomBytes } from 'node:crypto'
import type { TestProject } from 'vitest/node'
import { openEmbeddedPostgres } from '../../src/embedded/embedded.ts'
import { errorLine } from '../../src/kit/errors.ts'
import { makeReleaseStack, type ReleaseStack } from '../../src/kit/release-stack.ts'
import { findChromium, findRedisBinary, WITHOUT_CHROMIUM } from './binaries.ts'
import { withConnection } from './connect.ts'
import { makeSilentLog } from './log.ts'
import { nameOfHistory, type Provided } from './provided.ts'
import { openRedisServer } from './redis-server.ts'
import { openTempDir } from './temp-dir.ts'

/** Every test file opens pools and databases of its own. Data that a power cut would lose is thrown away anyway. */
const SERVER_SETTINGS = [
  'max_connections = 200',
  'fsync = off',
  'full_page_writes = off',
  "shared_buffers = '256MB'",
  "max_wal_size = '1GB'",
  // A handshake takes some milliseconds, and a run makes many thousands.
  'scram_iterations = 1',
]

/** Postgres adds real in single precision, which is wrong over many rows: a statement of ours that does fails in every test. */
const REFUSING_SUMS = [
  `CREATE FUNCTION public.refuse_sum(real, real) RETURNS real LANGUAGE plpgsql AS
     $$BEGIN RAISE 'sum() of real adds in single precision; sum a float8'; END$$`,
  `UPDATE pg_aggregate SET aggtransfn = 'public.refuse_sum(real, real)'::regprocedure
   WHERE aggfnoid = 'pg_catalog.sum(real)'::regprocedure`,
]

/**
 * Starts what all tests of a run share: one Postgres (the embedded one, or the server of TEST_DATABASE_URL), a migrated database to clone,
 * and one Redis. Returns a function that stops everything.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const release = makeReleaseStack()
  try {
    const postgresUrl = process.env.TEST_DATABASE_URL ?? (await openServer(release))
    project.provide('postgresUrl', postgresUrl)
    project.provide('template', await openTemplate(release, postgresUrl))
    project.provide('redisUrl', await openRedis(release))
    if (!findChromium())
      say(`${WITHOUT_CHROMIUM} (the tests that need it ${process.env.CI ? 'fail' : 'do not run'})`)
  } catch (error) {
    await release.release()
    throw error
  }
  return () => release.release()
}

async function openServer(release: ReleaseStack): Promise<string> {
  const folder = await openTempDir('postgres')
  release.defer('folder of Postgres', () => folder.close())
  const deps = { log: makeSilentLog() }
  const first = await openEmbeddedPostgres(deps, { dataDir: folder.path })
  try {
    await runStatements(
      first.url,
      SERVER_SETTINGS.map((setting) => `ALTER SYSTEM SET ${setting}`),
    )
  } finally {
    await first.close()
  }
  const server = await openEmbeddedPostgres(deps, { dataDir: folder.path })
  release.defer('Postgres', () => server.close())
  await runStatements(server.url, [`ALTER ROLE CURRENT_USER PASSWORD '${new URL(server.url).password}'`])
  return server.url
}

/** Makes the migrated database. A failure fails only the tests that need this database. */
async function openTemplate(release: ReleaseStack, server: string): Promise<Provided['template']> {
  const database = `musette_template_${randomBytes(4).toString('hex')}`
  const url = new URL(server)
  url.pathname = `/${database}`
  try {
    await runStatements(server, [`CREATE DATABASE ${database}`])
    release.defer('templates', () =>
      runStatements(
        server,
        [database, nameOfHistory(database)].map((name) => `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
      ),
    )
    const { migrate } = await import('../../src/core/store/migrate.ts')
    await migrate({ connectionString: url.href, log: makeSilentLog() })
    await runStatements(url.href, REFUSING_SUMS)
    return { database }
  } catch (error) {
    say(`there is no migrated database: ${errorLine(error)}`)
    return { reason: errorLine(error) }
  }
}

async function openRedis(release: ReleaseStack): Promise<string | undefined> {
  const binary = findRedisBinary()
  if (binary) {
    const server = await openRedisServer(binary)
    release.defer('Redis', () => server.close())
    return server.url
  }
  const sentence = 'redis-server is not installed; run: apt-get install redis-server'
  if (process.env.CI) throw new Error(sentence)
  say(`${sentence} (the tests that need it do not run)`)
  return undefined
}

async function runStatements(url: string, statements: string[]): Promise<void> {
  await withConnection(url, async (client) => {
    for (const statement of statements) await client.query(statement)
  })
}

function say(sentence: string): void {
  process.stderr.write(`musette tests: ${sentence}\n`)
}

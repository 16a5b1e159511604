import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { migrate } from '../../src/core/store/migrate.ts'
import { withClient } from '../../src/kit/postgres-client.ts'
import { openDaemon } from '../../src/program/daemon/daemon.ts'
import { ROLES } from '../../src/program/daemon/roles.ts'
import { tryDatabase } from '../../src/program/daemon/wait-for-servers.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { openRig } from '../core/mirror/rig.ts'
import { expectMirrored } from '../core/mirror/truth.ts'
import { runsWith } from '../kit/binaries.ts'
import { eventually } from '../kit/eventually.ts'
import { makeSilentLog } from '../kit/log.ts'
import { openForTest } from '../kit/open-for.ts'
import { queryOnce } from '../kit/postgres.ts'
import { type Cluster, HAS_CLUSTERS, openCluster } from '../kit/postgres-cluster.ts'
import { openLine } from '../kit/postgres-line.ts'
import { openTestRedis } from '../kit/redis.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { runVerb } from '../kit/verbs.ts'

const OURS = `select from pg_stat_activity where application_name ~ '^(musette|polls|fetches)'`
const CAUGHT_UP = `select from pg_stat_replication where replay_lsn = pg_current_wal_lsn()`
const SOON = { everyMs: 100, timeoutMs: 45_000 }

describe.runIf(runsWith(HAS_CLUSTERS))('a Postgres with a standby', () => {
  let one: Cluster
  let two: Cluster
  beforeAll(async () => {
    one = await openCluster({ settings: 'log_connections = on\n' })
    await migrate({ connectionString: one.url, log: makeSilentLog() })
    // Connects to another database, because a template may have no connection.
    for (const name of ['second', 'third'])
      await queryOnce(new URL('/template1', one.url).href, `create database ${name} template postgres`)
    two = await openCluster({ primary: one })
  })
  afterAll(async () => {
    await one?.close()
    await two?.close()
  })

  it('is refused at the standby with the setting to use, except for reading', async () => {
    const refused = migrate({ connectionString: two.url, log: makeSilentLog() })
    await expect(refused).rejects.toMatchObject({
      code: 'database_standby',
      message: expect.stringContaining('set DATABASE_URL to the primary'),
    })
    const patience = { signal: new AbortController().signal, withinMs: 5_000 }
    expect(await tryDatabase(two.url, patience)).toMatchObject({
      reason: expect.stringContaining('is a read-only standby'),
    })
    const read = await withClient({ connectionString: two.url, typed: true }, (client) =>
      client.query('select 1'),
    )
    expect(read.rowCount).toBe(1)
  })

  it('is read at the standby by each read-only command', async () => {
    const sandbox = await openForTest(startSandbox({ activities: 1, longestActivitySeconds: 60 }))
    const folder = await openForTest(openTempDir('standby'))
    const env = { MUSETTE_BASE_URL: sandbox.url, MUSETTE_DATA_DIR: folder.path, MUSETTE_HTTP: 'off' }
    const at = async (cluster: Cluster, line: string) => {
      const DATABASE_URL = new URL('/third', cluster.url).href
      return runVerb(line.split(' '), { env: { ...env, DATABASE_URL }, cwd: folder.path, input: 'rider' })
    }
    for (const line of ['login --username rider --password-stdin', 'sync'])
      expect(await at(one, line)).toMatchObject({ code: 0 })
    await eventually(async () => (await one.query(CAUGHT_UP)).length > 0, SOON)
    const third = new URL('/third', one.url).href
    const [ride] = await queryOnce(third, 'select path from training.activities')
    const READ = `status|changes|accounts|workout list|export ${ride?.path}|export --all --format parquet --to history|export --all --to history --check|backup it.tar`
    for (const line of READ.split('|')) {
      const { code, stderr } = await at(two, line)
      expect({ line, code, stderr }).toMatchObject({
        code: 0,
        stderr: expect.not.stringMatching(/is a standby|during recovery/),
      })
    }
    expect(await at(two, 'sync')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('is a read-only standby'),
    })
    await queryOnce(
      new URL('/third', one.url).href,
      'alter database third set default_transaction_read_only = on',
    )
    for (const line of ['status', 'backup again.tar'])
      expect({ line, ...(await at(one, line)) }).toMatchObject({ code: 0 })
  })

  const TABLE = [
    {
      queue: 'Postgres',
      database: 'postgres',
      old: 'a standby of the new one',
      of: () => [one, two] as const,
    },
    { queue: 'Redis', database: 'second', old: 'only read, and goes on', of: () => [two, one] as const },
  ]
  it.each(TABLE)(
    'fails over within seconds, with the queue in $queue, while the old server is $old',
    async ({ queue, database, of }) => {
      const [old, next] = of()
      const urlOf = ({ url }: Cluster) => new URL(`/${database}`, url).href
      // Without a proxy that is redirected, the URL lists both hosts.
      const line = queue === 'Postgres' ? await openLine(urlOf(old)) : undefined
      onTestFinished(() => line?.close())
      const hosts = [old, next].map(({ port }) => `127.0.0.1:${port}`).join()
      const redis = queue === 'Redis' ? await openTestRedis() : undefined
      const rig = await openForTest(
        openRig({
          activities: 2,
          databaseUrl: line?.url ?? `postgres://postgres@${hosts}/${database}`,
          env: {
            MUSETTE_HTTP: '127.0.0.1:0',
            // A poll that runs while the old server stops is retried after ten seconds; a short interval makes this rare.
            MUSETTE_POLL_EVERY: '3s',
            MUSETTE_LAG: '1s',
            ...(redis && { REDIS_URL: redis.url }),
          },
        }),
      )
      const input = { roles: ROLES, signal: new AbortController().signal }
      const daemon = await openForTest(openDaemon(rig.app.config, rig.app.log, input))
      const ready = async () => JSON.parse(await (await fetch(`${daemon.url}/readyz`)).text())
      const isEqual = (databaseUrl: string) => () => expectMirrored({ ...rig, databaseUrl }).then(() => true)
      await eventually(isEqual(urlOf(old)), SOON)
      expect((await ready()).server).toBe(`127.0.0.1:${old.port}`)
      await eventually(async () => (await old.query(CAUGHT_UP)).length > 0, SOON)
      await next.query('select pg_promote()')
      if (queue === 'Postgres') {
        // The URL leads to the old server until somebody redirects it.
        await old.follow(next)
        old.takeLog()
      } else {
        await old.query('alter system set default_transaction_read_only = on')
        await old.query('select pg_reload_conf()')
      }
      const begunAt = performance.now()
      if (line) {
        const isNamed = async () => (await ready()).parts.database.includes('(database_standby)')
        await eventually(isNamed, SOON)
        await old.query('select pg_sleep(2)')
        const logged = old.takeLog()
        expect(logged).not.toContain('read-only transaction')
        // Each attempt of the two pools takes at most three lines; without backoff there were a hundred a second.
        expect(logged.split('\n').length).toBeLessThan(40)
        // Each process logs it once, and a waiting job sometimes.
        const seconds = (performance.now() - begunAt) / 1_000
        expect(rig.log.text().split('is a standby').length).toBeLessThan(5 + seconds)
      }
      line?.moveTo(urlOf(next))
      await rig.add({ name: 'New', seconds: 300 })
      await eventually(isEqual(urlOf(next)), SOON)
      await eventually(async () => (await old.query(OURS)).length === 0, SOON)
      await eventually(async () => (await ready()).ready, SOON)
      expect((await ready()).server).toBe(`127.0.0.1:${next.port}`)
    },
    120_000,
  )
})

import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { migrate } from '../../../../src/core/store/migrate.ts'
import { makePartitions } from '../../../../src/core/store/samples/partitions.ts'
import { openEmbeddedPostgres } from '../../../../src/embedded/embedded.ts'
import { makeReleaseStack } from '../../../../src/kit/release-stack.ts'
import { syncAccount } from '../../../../src/program/app/sync-account.ts'
import { eventually } from '../../../kit/eventually.ts'
import { makeSilentLog } from '../../../kit/log.ts'
import { openTestDatabase, queryOnce } from '../../../kit/postgres.ts'
import { openTempDir } from '../../../kit/temp-dir.ts'
import { openRig, type Rig } from '../../mirror/rig.ts'

const REPLICATING = [
  "ALTER SYSTEM SET wal_level = 'logical'",
  'ALTER SYSTEM SET max_wal_senders = 4',
  'ALTER SYSTEM SET max_logical_replication_workers = 4',
  'ALTER SYSTEM SET fsync = off',
]
const STARTING_MS = 120_000
const COPIED_MS = 120_000
const TEST_MS = 300_000

const release = makeReleaseStack()
const log = makeSilentLog()
let rig: Rig
let subscriber: string

beforeAll(async () => {
  const folder = await openTempDir('publication')
  release.defer('folder', () => folder.close())
  const first = await openEmbeddedPostgres({ log }, { dataDir: folder.path })
  for (const statement of REPLICATING) await queryOnce(first.url, statement)
  await first.close()
  const server = await openEmbeddedPostgres({ log }, { dataDir: folder.path })
  release.defer('Postgres', () => server.close())
  await queryOnce(server.url, 'CREATE DATABASE subscriber')
  subscriber = Object.assign(new URL(server.url), { pathname: '/subscriber' }).href
  for (const connectionString of [server.url, subscriber]) await migrate({ connectionString, log })

  await queryOnce(server.url, 'CREATE PUBLICATION everything FOR TABLES IN SCHEMA training')
  // On one server a subscription cannot make its own slot: it would wait for itself.
  await queryOnce(server.url, `SELECT pg_create_logical_replication_slot('everything', 'pgoutput')`)
  await queryOnce(
    subscriber,
    `CREATE SUBSCRIPTION everything CONNECTION '${server.url}' PUBLICATION everything
       WITH (create_slot = false, copy_data = false)`,
  )
  release.defer('subscription', async () => {
    await queryOnce(subscriber, 'DROP SUBSCRIPTION everything')
  })
  rig = await openRig({ activities: 3, databaseUrl: server.url })
  release.defer('rig', () => rig.close())
}, STARTING_MS)

afterAll(() => release.release())

it(
  'a published mirror continues through polls, rewrites and revisions, and a subscriber gets the same rows',
  async () => {
    const sync = () => syncAccount(rig.app, { name: 'default', training: true })
    expect(await sync()).toMatchObject({ fetched: 3, failed: 0 })
    await rig.steer('POST', 'recalculate')
    expect(await sync()).toMatchObject({ fetched: 3, failed: 0 })
    await rig.sql`update training.workouts set name = upper(name)`
    const counts = await rig.rows(
      `select (select count(*)::int from training.samples) as samples, (select count(*)::int from training.activity_revisions) as revisions,
       (select count(*)::int from training.workouts) as workouts`,
    )
    expect(counts).toEqual([{ samples: expect.any(Number), revisions: 3, workouts: expect.any(Number) }])
    expect(Math.min(...Object.values(counts[0] ?? {}).map(Number))).toBeGreaterThan(0)
    const published = await contentOf(rig.databaseUrl)
    expect(published.length).toBeGreaterThan(14)
    await eventually(async () => isDeepStrictEqual(await contentOf(subscriber), published), {
      timeoutMs: COPIED_MS,
    })

    // Cut into partitions without a publication, as docs/scaling.md says, and then published and copied anew.
    await queryOnce(subscriber, 'ALTER SUBSCRIPTION everything DISABLE')
    await queryOnce(subscriber, 'ALTER SUBSCRIPTION everything SET (slot_name = NONE)')
    await queryOnce(subscriber, 'DROP SUBSCRIPTION everything')
    await eventually(async () => (await rig.sql`select pg_drop_replication_slot('everything')`).length > 0)
    await rig.sql`drop publication everything`
    const { keep } = makePartitions({ store: rig.app.store, log }, { keys: 2 })
    for (let looks = 0; looks < 20 && (await keep()); looks++);
    await rig.sql`create publication everything for tables in schema training with (publish_via_partition_root = true)`
    await rig.sql`select pg_create_logical_replication_slot('everything', 'pgoutput')`
    await queryOnce(
      subscriber,
      `CREATE SUBSCRIPTION everything CONNECTION '${rig.databaseUrl}' PUBLICATION everything WITH (create_slot = false, copy_data = false)`,
    )
    await rig.steer('POST', 'recalculate')
    expect(await sync()).toMatchObject({ fetched: 3, failed: 0 })
    // Rows that come before their partition, and are moved when it is made.
    await rig.sql`insert into training.activities (account_id, path, listed_at, wanted_at) select 1, 'later' || n, now(), now() from generate_series(1, 9) n`
    await rig.sql`insert into training.samples (activity_id, power) select activity_id, 1 from training.activities where path like 'later%'`
    await keep()
    expect(await rig.sql`select count(*)::int as left from musette.samples_rest`).toEqual([{ left: 0 }])
    const cut = await contentOf(rig.databaseUrl)
    await eventually(async () => isDeepStrictEqual(await contentOf(subscriber), cut), {
      timeoutMs: COPIED_MS,
    })

    await rig.sql`delete from training.accounts`
    const left = () => queryOnce(subscriber, 'select 1 from training.activity_revisions')
    await eventually(async () => (await left()).length === 0, { timeoutMs: COPIED_MS })
  },
  TEST_MS,
)

it('every table of the schema identifies changed rows for a publication', async () => {
  const database = await openTestDatabase()
  try {
    const without = await queryOnce(
      database.url,
      `select relname from pg_class c where relnamespace = 'training'::regnamespace and relkind in ('r', 'p')
         and relreplident <> 'f' and not exists (select from pg_index where indrelid = c.oid and indisprimary)`,
    )
    expect(without).toEqual([])
  } finally {
    await database.close()
  }
})

/** Every table, its number of rows and a checksum of them; without the row that each database is made with. */
async function contentOf(url: string): Promise<Record<string, unknown>[]> {
  const tables = await queryOnce(
    url,
    `select tablename as name from pg_tables where schemaname = 'training' and tablename <> 'database' order by 1`,
  )
  const content: Record<string, unknown>[] = []
  for (const { name } of tables) {
    const [row] = await queryOnce(
      url,
      `select count(*)::int as rows, md5(string_agg(t::text, ',' order by t::text)) as sum from training.${name} t`,
    )
    content.push({ name, ...row })
  }
  return content
}

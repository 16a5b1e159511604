import { isDeepStrictEqual } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { migrate } from '../../../../src/core/store/migrate.ts'
import { makePartitions } from '../../../../src/core/store/samples/partitions.ts'
import { openEmbeddedPostgres } from '../../../../src/embedded/embedded.ts'
import { syncAccount } from '../../../../src/program/app/sync-account.ts'
import { eventually } from '../../../kit/eventually.ts'
import { makeSilentLog } from '../../../kit/log.ts'
import { openForTest } from '../../../kit/open-for.ts'
import { queryOnce } from '../../../kit/postgres.ts'
import { openTempDir } from '../../../kit/temp-dir.ts'
import { openRig } from '../../mirror/rig.ts'

const REPLICATING = [
  "ALTER SYSTEM SET wal_level = 'logical'",
  'ALTER SYSTEM SET max_wal_senders = 4',
  'ALTER SYSTEM SET max_logical_replication_workers = 4',
  'ALTER SYSTEM SET fsync = off',
]
const TEST_MS = 300_000

it(
  'a partitioned mirror can be published, and a subscriber gets the same rows',
  async () => {
    const log = makeSilentLog()
    const folder = await openForTest(openTempDir('publication'))
    const first = await openEmbeddedPostgres({ log }, { dataDir: folder.path })
    for (const statement of REPLICATING) await queryOnce(first.url, statement)
    await first.close()
    const server = await openForTest(openEmbeddedPostgres({ log }, { dataDir: folder.path }))
    await queryOnce(server.url, 'CREATE DATABASE subscriber')
    const subscriber = Object.assign(new URL(server.url), { pathname: '/subscriber' }).href
    for (const connectionString of [server.url, subscriber]) await migrate({ connectionString, log })
    const rig = await openForTest(openRig({ activities: 3, databaseUrl: server.url }))
    const unidentified = await rig.rows(
      `select relname from pg_class c where relnamespace = 'training'::regnamespace and relkind in ('r', 'p')
         and relreplident <> 'f' and not exists (select from pg_index where indrelid = c.oid and indisprimary)`,
    )
    expect(unidentified).toEqual([])

    const sync = () => syncAccount(rig.app, { name: 'default', training: true })
    expect(await sync()).toMatchObject({ fetched: 3, failed: 0 })
    // As docs/scaling.md and docs/installing.md say.
    const { keep } = makePartitions({ store: rig.app.store, log }, { keys: 2 })
    for (let looks = 0; looks < 20 && (await keep()); looks++);
    await rig.sql`create publication everything for tables in schema training with (publish_via_partition_root = true)`
    // On one server a subscription cannot create its own slot, because it would wait for itself.
    await rig.sql`select pg_create_logical_replication_slot('everything', 'pgoutput')`
    await queryOnce(subscriber, 'TRUNCATE training.database')
    await queryOnce(
      subscriber,
      `CREATE SUBSCRIPTION everything CONNECTION '${server.url}' PUBLICATION everything WITH (create_slot = false)`,
    )
    onTestFinished(async () => void (await queryOnce(subscriber, 'DROP SUBSCRIPTION everything')))
    const expectCopied = async () => {
      const published = await contentOf(server.url)
      expect(published.length).toBeGreaterThan(14)
      const isCopied = async () => isDeepStrictEqual(await contentOf(subscriber), published)
      await eventually(isCopied, { timeoutMs: TEST_MS / 3 })
    }
    await expectCopied()

    await rig.steer('POST', 'recalculate')
    expect(await sync()).toMatchObject({ fetched: 3, failed: 0 })
    await rig.sql`update training.workouts set name = upper(name)`
    // Rows without a partition; they move once their partition exists.
    await rig.sql`insert into training.activities (account_id, path, listed_at, wanted_at) select 1, 'later' || n, now(), now() from generate_series(1, 9) n`
    await rig.sql`insert into training.samples (activity_id, power) select activity_id, 1 from training.activities where path like 'later%'`
    await keep()
    expect(await rig.sql`select count(*)::int as left from musette.samples_rest`).toEqual([{ left: 0 }])
    await expectCopied()

    const left = () => queryOnce(subscriber, 'select 1 from training.activity_revisions')
    expect(await left()).toHaveLength(3)
    await rig.sql`delete from training.accounts`
    await eventually(async () => (await left()).length === 0, { timeoutMs: TEST_MS / 3 })
  },
  TEST_MS,
)

/** Returns every table with its number of rows and a checksum, except `database`, which has its own row in each database. */
async function contentOf(url: string): Promise<Record<string, unknown>[]> {
  const tables = await queryOnce(
    url,
    `select tablename as name from pg_tables where schemaname = 'training' and tablename <> 'database' order by 1`,
  )
  const content: Record<string, unknown>[] = []
  for (const { name } of tables) {
    const [row] = await queryOnce(
      url,
      `select count(*)::int as rows, md5(string_agg((t.*)::text, ',' order by (t.*)::text)) as sum from training.${name} t`,
    )
    content.push({ name, ...row })
  }
  return content
}

import { readFileSync } from 'node:fs'
import { mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findPartitioning, makePartitions } from '../../../src/core/store/samples/partitions.ts'
import { openStore } from '../../../src/core/store/store.ts'
import { findForeignParts } from '../../../src/features/backup/database/foreign-parts.ts'
import { tablesInOrder } from '../../../src/features/backup/database/tables.ts'
import { exportAll } from '../../../src/features/export/export-all.ts'
import { describeSchema } from '../../../src/features/mcp/schema-text.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { expectMirrored } from '../../core/mirror/truth.ts'
import { backUpToMemory, restoreInto } from '../../features/backup/rig.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openForTest } from '../../kit/open-for.ts'
import { openOtherPostgres } from '../../kit/other-postgres.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'

const SLOW = 480_000
/** Partitions of a few rides instead of five thousand. */
const TINY = { keys: 3, stepPages: 1 }

const SUMS = `select (select (count(*), sum(hash_record_extended(s, 0)))::text from training.samples s) as samples,
  (select (count(*), sum(hash_record_extended(r, 0)))::text from training.fit_records r) as records,
  (select (count(*), sum(hash_record_extended(v, 0)))::text from training.ride_samples v) as view`

describe('a mirror with partitioned samples and records', () => {
  let rig: Rig
  beforeAll(async () => {
    rig = await openRig({ activities: 8 })
    await rig.sync()
    await rig.rows(`insert into training.uploads (account_id, content_id, file_name, size_bytes, seen_at)
        select 1, 'c' || n, n || '.fit', 9, now() from generate_series(1, 7) n;
      insert into training.fit_files (account_id, content_id, size_bytes, parts, records, fields, read_at)
        select 1, 'c' || n, 9, 1, 900, '{}', now() from generate_series(1, 7) n;
      insert into training.fit_records (file_id, position, power)
        select f, p, p from generate_series(1, 7) f, generate_series(1, 900) p`)
  })
  afterAll(() => rig.close())

  /** Every way in which samples are read from the database. */
  const readers: Record<string, () => Promise<unknown>> = {
    SQL: () => rig.rows(SUMS),
    'the login of readers': () => rig.rows(`set role musette_reader; ${SUMS}`),
    'policies and rights': () =>
      rig.rows(`select relacl, relrowsecurity, obj_description(oid) as comment,
        array(select polname || pg_get_expr(polqual, polrelid) from pg_policy where polrelid = c.oid order by 1) as policies,
        (select reloptions from pg_class where oid = 'training.ride_samples'::regclass) as of_view
        from pg_class c where oid in ('training.samples'::regclass, 'training.fit_records'::regclass) order by relname`),
    'the dictionary for assistants': () =>
      rig.app.store.read(async ({ client }) => {
        await client.query('set local search_path = pg_catalog')
        return describeSchema(async (text) => (await client.query(text)).rows, '')
      }),
    'what others have made': () => rig.app.store.read((tx) => findForeignParts(tx, tablesInOrder())),
    'a backup, restored': async () => {
      const target = await openForTest(openTestDatabase())
      await restoreInto(target.url, await backUpToMemory(rig.databaseUrl), { compare: true })
      return queryOnce(target.url, SUMS)
    },
    'an export': async () => {
      const dir = join(await mkdtemp(join(rig.dataDir, 'export-')), 'all')
      await exportAll(rig.app, { dir, kind: 'by_hand' })
      const { files } = JSON.parse(await readFile(join(dir, 'musette-export.json'), 'utf8'))
      return Object.entries<{ sha256: string }>(files).map(([name, { sha256 }]) => [name, sha256])
    },
  }
  const readAll = async () => {
    const read: Record<string, unknown> = {}
    for (const [name, reader] of Object.entries(readers)) read[name] = await reader()
    return read
  }

  it(
    'reads the same in every way before, during and after, and keeps working',
    async () => {
      const before = await readAll()
      const kinds = () =>
        rig.rows(
          `select relkind from pg_class where oid in ('training.samples'::regclass, 'training.fit_records'::regclass)`,
        )
      // Each call acts as a new process without memory of the last.
      const keep = () => makePartitions({ store: rig.app.store, log: rig.log.log }, TINY).keep()
      expect(await keep()).toBe(true)
      expect(await readAll()).toEqual(before)
      expect(await kinds()).toContainEqual({ relkind: 'r' })
      for (let looks = 0; looks < 30 && (await keep()); looks++);
      expect(await kinds()).toEqual([{ relkind: 'p' }, { relkind: 'p' }])
      expect(await readAll()).toEqual(before)
      const said = await rig.app.store.read(findPartitioning)
      expect(said).toEqual(['training.samples has 5 partitions', 'training.fit_records has 5 partitions'])
      // A reader does not see the partitions, and a subscriber may know only the table.
      await expect(rig.rows('set role musette_reader; select from musette.samples_0')).rejects.toThrow(
        /denied/,
      )
      await rig.rows(
        'create publication p for tables in schema training with (publish_via_partition_root = true)',
      )
      const published = await rig.rows(
        `select tablename from pg_publication_tables where tablename like '%samples%' order by 1`,
      )
      expect(published).toEqual([{ tablename: 'samples' }])
      await rig.steer('POST', 'recalculate')
      expect(await rig.sync()).toMatchObject({ fetched: 8, failed: 0 })
      await expectMirrored(rig)
    },
    SLOW,
  )
})

it(
  'a 1.0.0 backup restores, also into emptied partitions, on each installed major',
  async () => {
    const bytes = readFileSync('test/flows/upgrade/made-by/1.0.0.backup')
    for (const major of [14, 15, 16, 17]) {
      const server = await openOtherPostgres(major)
      if (!server) continue
      onTestFinished(() => server.close())
      await expectCut(server.url, bytes)
    }
    const database = await openForTest(openTestDatabase())
    await expectCut(database.url, bytes)
  },
  SLOW,
)

/** Restores a backup, partitions the tables and compares them; then empties the tables and repeats this. */
async function expectCut(url: string, bytes: Buffer): Promise<void> {
  const log = makeSilentLog()
  const store = openStore({ log }, { connectionString: url })
  onTestFinished(() => store.close())
  const contents: unknown[] = []
  for (const round of [1, 2]) {
    await restoreInto(url, bytes)
    contents.push(await queryOnce(url, SUMS))
    const { keep } = makePartitions({ store, log }, { keys: 3 })
    for (let looks = 0; looks < 30 && (await keep()); looks++);
    contents.push(await queryOnce(url, SUMS))
    const [row] = await queryOnce(
      url,
      "select count(*)::int as parts from pg_inherits where inhparent = 'training.samples'::regclass",
    )
    expect(row?.parts, `round ${round}`).toBeGreaterThan(3)
    await queryOnce(url, 'truncate training.accounts, training.samples, training.fit_records cascade')
    await queryOnce(url, 'truncate training.changes, training.drift')
  }
  for (const content of contents) expect(content).toEqual(contents[0])
}

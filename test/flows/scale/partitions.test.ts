import { mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { limitToOneAccount } from '../../../src/core/store/migration/one-account.ts'
import { makePartitions } from '../../../src/core/store/samples/partitions.ts'
import { findForeignParts } from '../../../src/features/backup/database/foreign-parts.ts'
import { tablesInOrder } from '../../../src/features/backup/database/tables.ts'
import { exportAll } from '../../../src/features/export/export-all.ts'
import { describeSchema } from '../../../src/features/mcp/schema-text.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { expectMirrored } from '../../core/mirror/truth.ts'
import { backUpToMemory, restoreInto } from '../../features/backup/rig.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'

/** Partitions of a few rides instead of ten thousand. */
const TINY = { keys: 3, stepPages: 1 }

const SUMS = `select (select (count(*), sum(hash_record_extended(s, 0)))::text from training.samples s) as samples,
  (select (count(*), sum(hash_record_extended(r, 0)))::text from training.fit_records r) as records,
  (select (count(*), sum(hash_record_extended(v, 0)))::text from training.ride_samples v) as view`

describe('a mirror whose samples and records are cut into partitions', () => {
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
    await limitToOneAccount(rig.app.store)
  })
  afterAll(() => rig.close())

  /** Reads by every way on which samples leave the database. */
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
      const target = await openTestDatabase()
      onTestFinished(() => target.close())
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

  it('is read the same by every way before, meanwhile and afterwards, and goes on', async () => {
    const before = await readAll()
    const kinds = () =>
      rig.rows(
        `select relkind from pg_class where oid in ('training.samples'::regclass, 'training.fit_records'::regclass)`,
      )
    // Each time as a process that knows nothing of the last.
    const keep = () => makePartitions({ store: rig.app.store, log: rig.log.log }, TINY).keep()
    expect(await keep()).toBe(true)
    expect(await readAll()).toEqual(before)
    expect(await kinds()).toContainEqual({ relkind: 'r' })
    for (let looks = 0; looks < 30 && (await keep()); looks++);
    expect(await kinds()).toEqual([{ relkind: 'p' }, { relkind: 'p' }])
    expect(await readAll()).toEqual(before)
    await rig.steer('POST', 'recalculate')
    expect(await rig.sync()).toMatchObject({ fetched: 8, failed: 0 })
    await expectMirrored(rig)
  })
})

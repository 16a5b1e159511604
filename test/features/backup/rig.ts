import { Readable } from 'node:stream'
import { openStore } from '../../../src/core/store/store.ts'
import {
  CHECKSUMS,
  MANIFEST,
  type Manifest,
  makeChecksum,
} from '../../../src/features/backup/archive/manifest.ts'
import { openArchive } from '../../../src/features/backup/archive/read-archive.ts'
import { restoreBackup } from '../../../src/features/backup/archive/restore-backup.ts'
import { ARCHIVE_END, makeEntry, readEntries } from '../../../src/features/backup/archive/tar.ts'
import { writeBackup } from '../../../src/features/backup/archive/write-backup.ts'
import { systemClock } from '../../../src/kit/time.ts'
import { withConnection } from '../../kit/connect.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { queryOnce } from '../../kit/postgres.ts'

const log = makeSilentLog()
const never = new AbortController().signal

/** Fills a migrated database with an account and its login, activities with samples, an upload and a run. */
export async function fill(url: string, activities = 3): Promise<void> {
  await queryOnce(
    url,
    `insert into training.accounts (name, base_url, needs_login) values ('default', 'http://127.0.0.1:9', false);
     insert into training.activities (account_id, path, name, listed_at, wanted_at, first_seen_at, started_at, summary)
       select 1, 'p' || n, E'Ride\\t' || n || E' \\\\ "ü"', now(), now(), now(), '2024-05-01'::timestamptz + n * interval '1 day', '{"a": 1}'
       from generate_series(1, ${activities}) n;
     insert into training.samples (activity_id, t, power, lat)
       select a, '2024-05-01'::timestamptz + s * interval '1 s', case when s % 7 > 0 then s % 300 + 0.1 end, 'NaN'
       from generate_series(1, ${activities}) a, generate_series(1, 2000) s;
     insert into training.raw_documents (activity_id, fetched_at, sha256, encoding, body)
       select a, now(), 'x', 'gzip', sha256(a::text::bytea) from generate_series(1, ${activities}) a;
     insert into training.uploads (account_id, content_id, file_name, size_bytes, seen_at, activity_id)
       values (1, 'c', 'ride.fit', 9, now(), 1);
     insert into training.sync_runs (account_id, resource, kind) values (1, 'activities', 'poll'), (null, 'workouts', 'poll');
     insert into musette.credentials (account_id, client_id, client_secret, access_token, refresh_token, key_id, obtained_at, expires_at)
       values (1, 'c', '\\x00ff', '\\x01', '\\x02', 'abcd1234', now(), now())`,
  )
}

/**
 * Returns a hash of the rows of every logged table of both schemas, and the next number of every identity column. Leaves out the change
 * that records a restore, the number of the next change, and the line.
 */
export function contentOf(url: string): Promise<Record<string, unknown>> {
  return withConnection(url, async (client) => {
    const { rows: names } = await client.query(
      `select n.nspname || '.' || c.relname as name, c.relkind from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('training', 'musette') and c.relkind in ('r', 'S') and c.relname <> 'changes_change_id_seq'
       and c.relpersistence <> 'u' order by 1`,
    )
    const content: Record<string, unknown> = {}
    for (const { name, relkind } of names) {
      const query =
        name === 'training.database'
          ? 'select identity as content from training.database'
          : relkind === 'S'
            ? `select last_value::text || is_called as content from ${name}`
            : `select count(*) || ' rows, ' || coalesce(md5(string_agg((t.*)::text, E'\\n' order by (t.*)::text)), '') as content from ${name} t
           where to_jsonb(t.*) ->> 'kind' is distinct from 'restored'`
      content[String(name)] = (await client.query(query)).rows[0]?.content
    }
    return content
  })
}

/** Backs up a database and returns the archive; `onFirst` runs after the list of tables is written and before a table is read. */
export async function backUpToMemory(url: string, onFirst?: () => Promise<unknown>): Promise<Buffer> {
  const store = openStore({ log }, { connectionString: url, maxConnections: 2 })
  const pieces: Buffer[] = []
  try {
    const write = async (bytes: Buffer) => {
      if (pieces.push(bytes) === 1) await onFirst?.()
    }
    await writeBackup({ store, now: systemClock }, { write, signal: never })
    return Buffer.concat(pieces)
  } finally {
    await store.close()
  }
}

/** Reads an archive to its end, without a database. */
export async function readThrough(bytes: Buffer): Promise<void> {
  const archive = await openArchive(Readable.from([bytes]))
  for (const { name } of archive.manifest.tables) for await (const _ of archive.tableBytes(name)) void _
  await archive.verify()
}

/** Makes a copy of an archive with a changed manifest, the tables that this manifest names, and correct checksums. */
export async function forge(bytes: Buffer, change: (manifest: Manifest) => unknown): Promise<Buffer> {
  const pieces: Buffer[] = []
  let checksums = ''
  let named: string[] = []
  for await (const entry of readEntries(Readable.from([bytes]))) {
    if (entry.name === MANIFEST) {
      const manifest = JSON.parse(entry.bytes.toString())
      change(manifest)
      named = manifest.tables.map(({ name }: { name: string }) => name)
      entry.bytes = Buffer.from(JSON.stringify(manifest))
    }
    const [table = ''] = entry.name.split('/')
    if (entry.name.includes('/') && !named.includes(table)) continue
    if (entry.name === CHECKSUMS) entry.bytes = Buffer.from(checksums)
    checksums += makeChecksum(entry)
    pieces.push(makeEntry(entry, 0))
  }
  return Buffer.concat([...pieces, ARCHIVE_END])
}

/** Restores an archive; `folder` contains the migrations of another version. */
export async function restoreInto(
  url: string,
  bytes: Buffer,
  options: { folder?: string; compare?: boolean } = {},
): Promise<void> {
  const archive = await openArchive(Readable.from([bytes]))
  await restoreBackup({ log }, { ...options, connectionString: url, archive, signal: never })
}

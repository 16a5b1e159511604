import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { findAccounts } from '../../core/store/account-rows.ts'
import type { Tx } from '../../core/store/store.ts'
import { MusetteError } from '../../kit/errors.ts'
import { foldName, makeFileStem } from '../../kit/folders/file-name.ts'
import { VERSION } from '../../kit/program-folder.ts'
import { trackFormatOf } from './export-folder.ts'
import { type Also, isTrackFormat, OF_POSITIONS, type TrackFormat } from './export-formats.ts'
import { type EncodeGroup, encodeParquet } from './parquet/parquet-encoder.ts'
import { findTrack } from './rows/export-rows.ts'
import { findContent, findPartitions, type Partition } from './rows/partitions.ts'

/** A file that an export of the current snapshot contains. */
type WantedFile = {
  /** its path in the folder, with `/` */
  path: string
  /** equal fingerprints mean equal bytes, unless the version of a library differs */
  fingerprint: string
  rows: number
  /** makes the file's bytes in the same transaction */
  findPieces(tx: Tx, use: Use): AsyncIterable<Uint8Array>
}

/** `onRows` gets the row count of each piece; `encode` makes row groups from the rows. */
type Use = { onRows: (rows: number) => void; encode: EncodeGroup }

/** Finds the files of an export in the snapshot of a transaction: the tables and the requested originals, or only tracks. */
export async function findWantedFiles(tx: Tx, also: readonly Also[]): Promise<WantedFile[]> {
  const partitions = trackFormatOf(also) ? [] : await findPartitions(tx)
  const names = new Set((await findAccounts(tx)).map(({ name }) => name))
  const files = partitions.map((partition): WantedFile => {
    // The fingerprint includes the version, because another version of musette may write different columns.
    const print = createHash('sha256').update(`${VERSION} ${FORMAT} ${partition.fingerprint}`).digest('hex')
    return {
      path: pathOf(partition, names),
      fingerprint: print.slice(0, 32),
      rows: partition.rows,
      findPieces: (tx, use) => findParquet(tx, partition, use),
    }
  })
  for (const one of also) {
    const taken = new Set<string>()
    for (const kept of (await tx.client.query<KeptFile>(KEPT[one].files)).rows) {
      const { key, fingerprint, rows = 1 } = kept
      const path = pathOfKept(one, kept, { names, taken })
      taken.add(foldName(path))
      const findPieces = (tx: Tx, { onRows }: Use) => {
        onRows(rows)
        return isTrackFormat(one) ? findTrackBytes(tx, Number(key), one) : findKept(tx, { one, key })
      }
      files.push({ path, fingerprint, rows, findPieces })
    }
  }
  return files
}

async function* findParquet(tx: Tx, partition: Partition, { onRows, encode }: Use) {
  const { columns, pages } = await findContent(tx, partition)
  const counted = async function* () {
    for await (const page of pages) {
      onRows(page.rows)
      yield page
    }
  }
  yield* encodeParquet(partition.table, columns, counted(), encode)
}

async function* findKept(
  tx: Tx,
  { one, key }: { one: 'originals' | 'raw'; key: KeptFile['key'] },
): AsyncGenerator<Uint8Array> {
  const { rows } = await tx.client.query<{ body: Buffer; encoding: string }>(KEPT[one].body, [key])
  if (!rows[0]) throw new MusetteError('kept_file_gone', `store: ${one} ${key} is gone`)
  const { body, encoding } = rows[0]
  const isPacked = encoding === 'gzip'
  // Responses stay compressed, because uncompressed they would take gigabytes.
  if (one === 'raw') yield isPacked ? body : gzipSync(body)
  else yield isPacked ? gunzipSync(body) : body
}

async function* findTrackBytes(...track: Parameters<typeof findTrack>) {
  for await (const piece of findTrack(...track)) yield Buffer.from(piece)
}

/** Increase this if the files' format changes within a version. */
const FORMAT = 3

const WITHOUT_YEARS: ReadonlySet<string> = new Set(['workouts', 'workout_sets', 'routes'])

/** The partition value that readers of Hive folders take for NULL. */
const NO_YEAR = '__HIVE_DEFAULT_PARTITION__'

/**
 * Returns the path of a kept file: `originals/account=default/year=2025/2025-06-01T080000Z_ride.fit` (with part of a hash if the name is
 * taken), `gpx/account=default/year=2025/2025-06-01T080000Z_Morning ride.gpx`, or `raw/account=default/year=2025/PATH.json.gz`.
 */
function pathOfKept(
  one: Also,
  { account, at, name, key }: KeptFile,
  { names, taken }: { names: ReadonlySet<string>; taken: ReadonlySet<string> },
): string {
  const year = at ? String(at.getUTCFullYear()).padStart(4, '0') : NO_YEAR
  const folder = `${one}/account=${escapeAccount(account, names)}/year=${year}`
  const moment = at && one !== 'raw' ? `${at.toISOString().replace(/:|\.\d+/g, '')}_` : ''
  const stem = `${folder}/${moment}${makeFileStem(name.replace(/\.fit$/i, ''), 'activity')}`
  const ending = ENDINGS[one] ?? `.${one}`
  for (let n = 0; ; n++) {
    const mark = createHash('sha256').update(`${key} ${n}`).digest('hex').slice(0, 12)
    const path = n === 0 ? `${stem}${ending}` : `${stem}_${mark}${ending}`
    if (!taken.has(foldName(path))) return path
  }
}

const ENDINGS: Partial<Record<Also, string>> = { originals: '.fit', raw: '.json.gz' }

/** Returns the path of a partition's file: `samples/account=default/year=2025/samples-2025-06.parquet`. */
function pathOf({ table, account: owner, year, month }: Partition, names: ReadonlySet<string>): string {
  const account = `account=${escapeAccount(owner, names)}`
  if (WITHOUT_YEARS.has(table)) return `${table}/${account}/${table}.parquet`
  const padded = year === null ? 'unknown' : String(year).padStart(4, '0')
  const span = month === null ? padded : `${padded}-${String(month).padStart(2, '0')}`
  const folder = `${table}/${account}/year=${year === null ? NO_YEAR : padded}`
  return `${folder}/${table}-${span}.parquet`
}

/** The characters that Hive escapes in folder names, and the characters that Windows refuses. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are escaped
const UNSAFE = /[\u0000-\u001f\u007f"#%'*/:=?\\{[\]^<>|]/g

/**
 * Escapes an account's name with percent signs as Hive does; programs that read Hive folders undo this. Two names that differ only in case
 * get folders that differ on every file system.
 */
function escapeAccount(name: string, names: ReadonlySet<string>): string {
  const hasTwin = [...names].some((other) => other !== name && foldName(other) === foldName(name))
  const safe = name.replace(UNSAFE, percent)
  return hasTwin ? safe.replace(/[A-Z]|[^\0-\x7f]/gu, percent) : safe
}

const percent = (character: string) =>
  Buffer.from(character).toString('hex').toUpperCase().replace(/../g, '%$&')

/** A kept FIT file or response of the service: its account, time and name. */
type KeptFile = {
  key: string
  account: string
  /** the start of the activity or, for a file without a start, the time when the file was seen; null if unknown */
  at: Date | null
  name: string
  /** SHA-256 of the content, or of the data from which a track is made */
  fingerprint: string
  /** the samples of a track */
  rows?: number
}

/** Selects the tracks of a format, including the tracks of activities that the service no longer lists. */
const tracksOf = (format: TrackFormat) => ({
  files: `select v.activity_id::text as key, a.name as account, case when isfinite(v.started_at) then v.started_at end as at,
      coalesce(nullif(v.name, ''), v.path) as name, v.sample_count as rows,
      md5(concat_ws(' ', ${FORMAT}, v.activity_id, v.updated_at, c.version, x.read_at)) as fingerprint
    from training.activities v join training.accounts a using (account_id) left join musette.content_versions c using (activity_id)
      left join training.ride_files f using (account_id, activity_id) left join training.fit_files x using (account_id, content_id)
    where v.sample_count > 0 and (v.start_lat is not null or ${!OF_POSITIONS.has(format)}) order by a.name collate "C", v.activity_id`,
})

/** Queries for the kept files, and for the body of a file by its key. */
const KEPT = {
  gpx: tracksOf('gpx'),
  tcx: tracksOf('tcx'),
  geojson: tracksOf('geojson'),
  originals: {
    files: `select o.account_id || ' ' || o.content_id as key, a.name as account, coalesce(f.started_at, u.seen_at) as at,
        u.file_name as name, o.content_id as fingerprint
      from training.fit_originals o join training.fit_files f using (account_id, content_id)
        join training.uploads u using (account_id, content_id) join training.accounts a using (account_id)
      order by a.name collate "C", 3, o.content_id`,
    body: `select body, encoding from training.fit_originals
      where account_id = split_part($1, ' ', 1)::int and content_id = split_part($1, ' ', 2)`,
  },
  raw: {
    files: `select v.activity_id::text as key, a.name as account, case when isfinite(v.started_at) then v.started_at end as at,
        v.path as name, r.sha256 as fingerprint
      from training.raw_documents r join training.activities v using (activity_id) join training.accounts a using (account_id)
      order by a.name collate "C", v.path`,
    body: 'select body, encoding from training.raw_documents where activity_id = $1::int',
  },
} as const

import pg from 'pg'
import { copyOut } from '../../../core/store/copy.ts'
import { findIdentity } from '../../../core/store/database-facts.ts'
import { checkSchema, findMigrations } from '../../../core/store/migration/schema-version.ts'
import type { Store, Tx } from '../../../core/store/store.ts'
import { MusetteError } from '../../../kit/errors.ts'
import { VERSION } from '../../../kit/program-folder.ts'
import type { Clock } from '../../../kit/time.ts'
import { type CopyProgress, type CopyWatch, watchCopy } from '../database/copy-progress.ts'
import { findForeignParts } from '../database/foreign-parts.ts'
import { type BackupTable, findSequences, quoteName, tablesInOrder } from '../database/tables.ts'
import { onDisk } from './backup-errors.ts'
import {
  CHECKSUMS,
  countManifestRows,
  FORMAT,
  MANIFEST,
  type Manifest,
  makeChecksum,
  PLAIN_SCRIPT,
  PLAIN_SQL,
  partName,
} from './manifest.ts'
import { writeTarget } from './named-file.ts'
import { compressParts } from './parts.ts'
import { findPlainSql, SCRIPT } from './plain-restore.ts'
import { ARCHIVE_END, makeEntry } from './tar.ts'

type BackupOptions = {
  signal: AbortSignal
  onProgress?: ((now: CopyProgress) => void) | undefined
  older?: BackupTable[]
}

/**
 * Writes a backup to a file, see writeTarget. Throws writeBackup's errors, TransientError `backup_disk_full` and ConfigError `backup_file`.
 */
export async function writeBackupFile(
  deps: { store: Store; now: Clock },
  { path, byHand = false, ...rest }: { path: string; byHand?: boolean } & BackupOptions,
): Promise<BackupReport> {
  return onDisk('write', path, () =>
    writeTarget(path, { byHand }, (write) => writeBackup(deps, { ...rest, write })),
  )
}

export type BackupReport = {
  manifest: Manifest
  bytes: number
  /** foreign objects in our schemas, named as by findForeignParts; the archive does not contain them */
  leftOut: string[]
}

/**
 * Writes a snapshot of all tables of the schemas `training` and `musette`, while others read and write, and the files for a restore without
 * musette. Passes the archive to `write` in pieces and awaits each call. `older`: the tables of a database of an older version.
 * `onProgress` uses a second connection of the store. Throws ConfigError as checkSchema does, the store's errors, the errors of `write`,
 * and the signal's reason.
 */
export async function writeBackup(
  deps: { store: Store; now: Clock },
  { write, signal, onProgress, older }: { write: (bytes: Buffer) => Promise<void> } & BackupOptions,
): Promise<BackupReport> {
  const tables = older ?? tablesInOrder()
  let watch: CopyWatch | undefined
  try {
    return await deps.store.read(async (tx) => {
      // Lock before any other query: the queries then see every finished migration, and no migration changes a table until the end.
      const names = tables.map(({ name }) => quoteName(name))
      await tx.client.query(`LOCK TABLE ${names.join(', ')} IN ACCESS SHARE MODE`)
      if (!older) await checkSchema(tx)
      const manifest = await findManifest(tx, tables, deps.now())
      const archive = archiveWriter(write, deps.now())
      await archive.add(MANIFEST, Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`))
      await archive.add(PLAIN_SQL, Buffer.from(await findPlainSql(tx, manifest)))
      await archive.add(PLAIN_SCRIPT, Buffer.from(SCRIPT))
      const total = countManifestRows(manifest)
      if (onProgress) watch = await watchCopy(deps.store, tx.client, { total, onProgress })
      for (const table of manifest.tables) {
        await addTable(tx, { archive, table, signal })
        watch?.add(table.rows)
      }
      return { manifest, bytes: await archive.end(), leftOut: await findForeignParts(tx, tables) }
    })
  } catch (error) {
    // An aborted COPY loses its connection; throw the abort, not the lost connection.
    signal.throwIfAborted()
    throw error
  } finally {
    await watch?.stop()
  }
}

async function findManifest(tx: Tx, ours: readonly BackupTable[], madeAt: Date): Promise<Manifest> {
  const tables: Manifest['tables'] = []
  const { identity, line } = await findIdentity(tx)
  for (const table of ours) {
    const text = `SELECT count(*)::float8 AS rows FROM ${quoteName(table.name)}`
    const { rows } = await tx.client.query<{ rows: number }>(text)
    tables.push({ ...table, rows: rows[0]?.rows ?? 0 })
  }
  return {
    format: FORMAT,
    musette: VERSION,
    made_at: madeAt.toISOString(),
    database: { identity, line },
    migrations: await findMigrations(tx.client),
    tables,
    sequences: await findSequences(tx, ours),
  }
}

async function addTable(
  tx: Tx,
  input: { archive: ArchiveWriter; table: Manifest['tables'][number]; signal: AbortSignal },
): Promise<void> {
  const { archive, table, signal } = input
  // COPY of a partitioned table by its name would leave out its partitions.
  const columns = table.columns.map(pg.escapeIdentifier).join(', ')
  const copy = copyOut(tx.client, `(SELECT ${columns} FROM ${quoteName(table.name)})`)
  let part = 0
  for await (const bytes of compressParts(copy.chunks)) {
    signal.throwIfAborted()
    part += 1
    await archive.add(partName(table.name, part), bytes)
  }
  const rows = await copy.rows()
  if (rows === table.rows) return
  const message = `the backup has ${rows} rows of ${table.name}, but the table has ${table.rows}; an index may be damaged; run: musette sql --write "reindex table ${table.name}"`
  throw new MusetteError('backup_rows_differ', message)
}

type ArchiveWriter = ReturnType<typeof archiveWriter>

function archiveWriter(write: (bytes: Buffer) => Promise<void>, madeAt: Date) {
  const time = Math.floor(madeAt.getTime() / 1000)
  let checksums = ''
  let size = 0
  const put = async (bytes: Buffer) => {
    await write(bytes)
    size += bytes.length
  }
  return {
    async add(name: string, bytes: Buffer) {
      checksums += makeChecksum({ name, bytes })
      await put(makeEntry({ name, bytes }, time))
    },
    /** Adds the checksums, ends the archive and returns its size, bytes. */
    async end() {
      await put(makeEntry({ name: CHECKSUMS, bytes: Buffer.from(checksums) }, time))
      await put(ARCHIVE_END)
      return size
    },
  }
}

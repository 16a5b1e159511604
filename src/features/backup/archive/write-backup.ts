import { copyOut } from '../../../core/store/copy.ts'
import { findIdentity } from '../../../core/store/database-facts.ts'
import { checkSchema, findMigrations } from '../../../core/store/migration/schema-version.ts'
import type { Store, Tx } from '../../../core/store/store.ts'
import { MusetteError } from '../../../kit/errors.ts'
import type { Clock } from '../../../kit/time.ts'
import { type CopyProgress, type CopyWatch, findBackend, watchCopy } from '../database/copy-progress.ts'
import { findDefinitions } from '../database/definitions.ts'
import { findForeignParts } from '../database/foreign-parts.ts'
import {
  type BackupTable,
  countRows,
  findSequences,
  lockForReading,
  quoteColumns,
  tablesInOrder,
} from '../database/tables.ts'
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
import { compressParts } from './parts.ts'
import { makePlainSql, SCRIPT } from './plain-restore.ts'
import { ARCHIVE_END, makeEntry } from './tar.ts'

export type BackupReport = {
  manifest: Manifest
  bytes: number
  /** foreign objects in our schemas, as findForeignParts names them; they are not in the archive */
  leftOut: string[]
}

/**
 * Writes all tables of schemas `training` and `musette` as they are at one moment, while others read and write, and what loads them
 * without musette; `write` gets the archive in pieces, the next one when it has resolved. `onProgress` takes a second connection of the store. Throws
 * ConfigError as checkSchema does, the store's errors, those of `write`, and the signal's reason.
 */
export async function writeBackup(
  deps: { store: Store; now: Clock },
  input: {
    version: string
    write: (bytes: Buffer) => Promise<void>
    signal: AbortSignal
    onProgress?: ((now: CopyProgress) => void) | undefined
  },
): Promise<BackupReport> {
  const { signal, onProgress } = input
  const tables = tablesInOrder()
  let watch: CopyWatch | undefined
  try {
    return await deps.store.read(async (tx) => {
      await lockForReading(tx, tables)
      await checkSchema(tx)
      const manifest = await findManifest(tx, { tables, madeAt: deps.now(), version: input.version })
      const archive = makeArchiveWriter(input.write, deps.now())
      await archive.add(MANIFEST, Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`))
      const definitions = await findDefinitions(tx, tables)
      await archive.add(PLAIN_SQL, Buffer.from(makePlainSql(manifest, definitions)))
      await archive.add(PLAIN_SCRIPT, Buffer.from(SCRIPT))
      const total = countManifestRows(manifest)
      if (onProgress) watch = watchCopy(deps.store, { pid: await findBackend(tx.client), total, onProgress })
      for (const table of manifest.tables) {
        await addTable(tx, { archive, table, signal })
        watch?.add(table.rows)
      }
      return { manifest, bytes: await archive.end(), leftOut: await findForeignParts(tx, tables) }
    })
  } catch (error) {
    // A COPY that was stopped has lost its connection, which is not the reason.
    signal.throwIfAborted()
    throw error
  } finally {
    await watch?.stop()
  }
}

async function findManifest(
  tx: Tx,
  input: { tables: readonly BackupTable[]; madeAt: Date; version: string },
): Promise<Manifest> {
  const tables: Manifest['tables'] = []
  const { identity, line } = await findIdentity(tx)
  for (const table of input.tables) tables.push({ ...table, rows: await countRows(tx, table) })
  return {
    format: FORMAT,
    musette: input.version,
    made_at: input.madeAt.toISOString(),
    database: { identity, line },
    migrations: await findMigrations(tx.client),
    tables,
    sequences: await findSequences(tx, input.tables),
  }
}

async function addTable(
  tx: Tx,
  input: { archive: ArchiveWriter; table: Manifest['tables'][number]; signal: AbortSignal },
): Promise<void> {
  const { archive, table, signal } = input
  const copy = copyOut(tx.client, quoteColumns(table))
  let part = 0
  for await (const bytes of compressParts(copy.chunks)) {
    signal.throwIfAborted()
    part += 1
    await archive.add(partName(table.name, part), bytes)
  }
  const rows = await copy.rows()
  if (rows === table.rows) return
  const message = `the backup got ${rows} rows of ${table.name}, which has ${table.rows}; an index may be damaged; run: musette sql --write "reindex table ${table.name}"`
  throw new MusetteError('backup_rows_differ', message)
}

type ArchiveWriter = ReturnType<typeof makeArchiveWriter>

function makeArchiveWriter(write: (bytes: Buffer) => Promise<void>, madeAt: Date) {
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

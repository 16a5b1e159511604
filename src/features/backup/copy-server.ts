import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { applyMigrations, withMigrationLock } from '../../core/store/migrate.ts'
import { findVersion } from '../../core/store/migration/schema-version.ts'
import { openStore, type Tx } from '../../core/store/store.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { formatCount } from '../../kit/text.ts'
import { systemClock } from '../../kit/time.ts'
import type { ServerCopy } from '../../program/app/open-database.ts'
import { countManifestRows } from './archive/manifest.ts'
import { openArchive } from './archive/read-archive.ts'
import { restoreBackup } from './archive/restore-backup.ts'
import { writeBackup } from './archive/write-backup.ts'
import { findForeignParts, findServerParts } from './database/foreign-parts.ts'
import { type BackupTable, findColumns, findTablesInOrder, tablesInOrder } from './database/tables.ts'

/**
 * Copies all tables of the database at one address, which may be of an older version, into the empty one at another: an archive goes
 * through a pipe, every loaded row is compared with it, and then the tables are brought to this version. Without the other address it
 * only finds what it would leave out. Throws as writeBackup and restoreBackup do.
 */
export const copyServer: ServerCopy = async (deps, { from, to, onProgress }) => {
  const { log, signal } = deps
  return closeAfter(openStore({ log }, { connectionString: from, maxConnections: 1 }), async (source) => {
    const { version } = await source.read(({ client }) => findVersion(client))
    const others = await source.read(findServerParts)
    // A server whose process was killed before it made the tables.
    if (version === 0) return { copied: [], leftOut: others }
    if (to === undefined)
      return { copied: [], leftOut: [...(await source.read(findForeignPartsOfOlder)), ...others] }
    const tables = await findTablesOf(version, { ...deps, connectionString: to })
    return closeAfter(openStore({ log }, { connectionString: to, maxConnections: 1 }), async (target) => {
      const [pipe, failed] = [new PassThrough(), new AbortController()]
      pipe.on('error', () => undefined)
      const write = async (bytes: Buffer) => {
        if (!pipe.write(bytes)) await once(pipe, 'drain', failed)
      }
      const written = writeBackup({ store: source, now: systemClock }, { write, signal, older: tables })
      const restored = openArchive(pipe).then((archive) =>
        restoreBackup(deps, {
          connectionString: to,
          archive,
          signal,
          compare: true,
          progress: onProgress && { store: target, onProgress },
        }),
      )
      // The first that fails ends the other.
      const both = [written.then(() => void pipe.end()), restored]
      await Promise.all(both).catch(async (error: unknown) => {
        failed.abort()
        pipe.destroy(error instanceof Error ? error : undefined)
        await Promise.allSettled(both)
        throw error
      })
      const { manifest, leftOut } = await written
      return {
        copied: [
          `${manifest.tables.length} tables with ${formatCount(countManifestRows(manifest))} rows, each compared`,
        ],
        leftOut: [...leftOut, ...others],
      }
    })
  })
}

/** Finds the foreign objects among the tables that this version knows. */
async function findForeignPartsOfOlder(tx: Tx): Promise<string[]> {
  const present = await findColumns(tx.client)
  return findForeignParts(
    tx,
    tablesInOrder().filter(({ name }) => present.has(name)),
  )
}

/** Finds the tables of a version with their columns: makes them in an empty database, and takes that back. */
async function findTablesOf(version: number, input: Parameters<typeof withMigrationLock>[0]) {
  return withMigrationLock(input, async (client): Promise<BackupTable[]> => {
    await client.query('SAVEPOINT empty')
    await applyMigrations(client, { upTo: version })
    const tables = await findTablesInOrder(client)
    await client.query('ROLLBACK TO SAVEPOINT empty')
    return tables
  })
}

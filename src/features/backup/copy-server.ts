import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { findVersion } from '../../core/store/migration/schema-version.ts'
import { openStore } from '../../core/store/store.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { systemClock } from '../../kit/time.ts'
import type { ServerCopy } from '../../program/app/open-database.ts'
import { describeContent } from './archive/manifest.ts'
import { openArchive } from './archive/read-archive.ts'
import { restoreBackup } from './archive/restore-backup.ts'
import { writeBackup } from './archive/write-backup.ts'
import { findForeignParts, findServerParts } from './database/foreign-parts.ts'
import { findKnownTables } from './database/tables.ts'

/**
 * Copies all tables from the database `from`, which may be of an older version, into the empty database `to`: pipes an archive from one to
 * the other, compares every loaded row with it, and then migrates the tables to this version. Without `to` it copies nothing and lists the
 * objects that a copy would leave out. Throws as writeBackup and restoreBackup do.
 */
export const copyServer: ServerCopy = async (deps, { from, to, onProgress }) => {
  const { log, signal } = deps
  return closeAfter(openStore({ log }, { connectionString: from, maxConnections: 1 }), async (source) => {
    const { version } = await source.read(({ client }) => findVersion(client))
    const others = await source.read(findServerParts)
    // Version 0: an earlier process was killed before it made the tables, so there is nothing to copy.
    if (version === 0) return { copied: [], leftOut: others }
    const tables = await source.read(({ client }) => findKnownTables(client))
    if (to === undefined) {
      const foreign = await source.read((tx) => findForeignParts(tx, tables))
      return { copied: [], leftOut: [...foreign, ...others] }
    }
    const [pipe, failed] = [new PassThrough(), new AbortController()]
    pipe.on('error', () => undefined)
    const write = async (bytes: Buffer) => {
      if (!pipe.write(bytes)) await once(pipe, 'drain', failed)
    }
    const written = writeBackup({ store: source, now: systemClock }, { write, signal, older: tables })
    const restored = openArchive(pipe).then((archive) =>
      restoreBackup(deps, { connectionString: to, archive, signal, compare: true, onProgress }),
    )
    // If either side fails, stop the other side.
    const both = [written.then(() => void pipe.end()), restored]
    await Promise.all(both).catch(async (error: unknown) => {
      failed.abort()
      pipe.destroy(error instanceof Error ? error : undefined)
      await Promise.allSettled(both)
      throw error
    })
    const { manifest, leftOut } = await written
    return { copied: [`${describeContent(manifest)}, each compared`], leftOut: [...leftOut, ...others] }
  })
}

import { resolve } from 'node:path'
import { findIdentity } from '../../core/store/database-facts.ts'
import { ConfigError } from '../../kit/errors.ts'
import { folderOfAnother } from '../../kit/folders/folder-owner.ts'
import { quoteShell } from '../../kit/text.ts'
import type { App } from '../../program/app/app.ts'
import { readExport, readForeignExport, readForeignFiles, readWholeFiles } from './export-folder.ts'
import { findWantedFiles } from './files-to-export.ts'

/** A file that is not as it should be, and why. */
export type ExportFault = { path: string; why: keyof typeof FAULTS }

export const FAULTS = {
  damaged: 'its bytes are not those that were written, or it is gone',
  stale: 'the database holds other rows now or was restored, or another version of musette wrote it',
  missing: 'the database holds rows that were not exported yet',
  gone: 'the database has none of its rows any more',
  foreign: 'it does not belong to this export, and readers count it too',
} as const

/**
 * Compares the folder of an export with the database: reads every file, and compares its sources with those in the database
 * now. Writes nothing. Throws ConfigError `not_an_export` and `folder_of_another`, the errors of the file system, and the
 * signal's reason.
 */
export async function checkExport(
  app: Pick<App, 'store'>,
  { dir: given, signal }: { dir: string; signal: AbortSignal },
): Promise<{ files: number; faults: ExportFault[] }> {
  const dir = resolve(given)
  const database = await app.store.read(findIdentity)
  const foreign = await readForeignExport(dir, database)
  if (foreign) throw folderOfAnother(foreign)
  const manifest = await readExport(dir)
  if (!manifest) {
    const message = `${dir} holds no export of musette; run: musette export --all --format parquet --to ${quoteShell(given)}`
    throw new ConfigError('not_an_export', message)
  }
  const { files, also = [] } = manifest
  const whole = await readWholeFiles(dir, files, { thorough: true, signal })
  const found = await app.store.read((tx) => findWantedFiles(tx, also))
  const wanted = new Map(found.map(({ path, fingerprint }) => [path, fingerprint]))
  const faultOf = (path: string): ExportFault['why'] | undefined => {
    if (!Object.hasOwn(files, path)) return 'missing'
    if (!Object.hasOwn(whole, path)) return 'damaged'
    if (!wanted.has(path)) return 'gone'
    const isOfLine = manifest.database?.line === database.line
    return isOfLine && wanted.get(path) === files[path]?.fingerprint ? undefined : 'stale'
  }
  const paths = [...new Set([...Object.keys(files), ...wanted.keys()])].sort()
  const faults = paths.flatMap((path): ExportFault[] => {
    const why = faultOf(path)
    return why ? [{ path, why }] : []
  })
  for (const path of await readForeignFiles(dir, files)) faults.push({ path, why: 'foreign' })
  return { files: Object.keys(files).length, faults }
}

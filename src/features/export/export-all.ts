import { resolve } from 'node:path'
import type { HandlerResult } from '../../core/jobs/catalog.ts'
import { findIdentity } from '../../core/store/database-facts.ts'
import { followDatabase } from '../../core/store/feed/follow-database.ts'
import { withRun } from '../../core/store/runs.ts'
import { withExclusiveWork } from '../../core/store/store.ts'
import { ConfigError, errorLine, isDiskFull, MusetteError, TransientError } from '../../kit/errors.ts'
import { claimFolderOrThrow, folderOfAnother } from '../../kit/folders/folder-owner.ts'
import { VERSION } from '../../kit/program-folder.ts'
import { quoteShell } from '../../kit/text.ts'
import { DAY } from '../../kit/time.ts'
import type { App } from '../../program/app/app.ts'
import {
  type ExportedFiles,
  exportCommand,
  isOfOneFile,
  openExportFolder,
  publish,
  readExport,
  readForeignExport,
  readForeignFiles,
  readWholeFiles,
  removeStaged,
  trackFormatOf,
  writeStaged,
} from './export-folder.ts'
import { ALSO, type Also, isTrackFormat } from './export-formats.ts'
import { findWantedFiles } from './files-to-export.ts'
import { type EncoderThread, openEncoderThread } from './parquet/encoder-thread.ts'
import type { EncodeGroup } from './parquet/parquet-encoder.ts'
import { exportSettings } from './settings.ts'

/** What an export did: files by what became of them, and the samples and bytes of those that were written. */
export type ExportCounts = NonNullable<Awaited<ReturnType<typeof exportAll>>>

type ExportInput = {
  dir: string
  /** why it runs, for its row in sync_runs */
  kind: 'schedule' | 'by_hand'
  /** what it holds beside the tables; each export into the folder keeps what one before it was asked for */
  also?: readonly Also[]
  signal?: AbortSignal
  /** is called with the rows that are written and those that are to be */
  onProgress?: (now: { done: number; total: number }) => void
}

/**
 * Exports one moment of the whole history of all accounts as Parquet files, in folders by table, account and year. It writes only what has
 * changed since the last export into the folder, and changes the folder when all files are on the disk. The memory does not grow with the
 * history. Returns undefined while another process exports. Throws ConfigError `not_an_export`, `folder_of_another` and `export_folder`,
 * TransientError `export_disk_full`, and the signal's reason; then the last export stays.
 */
export async function exportAll(app: Pick<App, 'store' | 'log'>, input: ExportInput) {
  const run = { accountId: null, resource: 'export', kind: input.kind }
  return withExclusiveWork(app.store, 'export', () =>
    withRun(app.store, run, async (tally) => {
      const counts = await exportInto(app, { ...input, dir: resolve(input.dir) })
      const { files, written, removed, foreign, skipped, anew } = counts
      Object.assign(tally, { listed: files, changed: written, absent: removed, failed: skipped.length })
      const [first] = skipped
      if (first)
        app.log.warn(
          { files: skipped.length },
          `${first.path} cannot be exported (${first.reason}); other files are`,
        )
      if (anew)
        app.log.info(
          { dir: input.dir },
          'all of the export is written anew: it was not of this line of the database',
        )
      if (foreign.length > 0) {
        app.log.warn(
          { files: foreign.length, first: foreign[0] },
          'the export folder holds Parquet files that are not of the export; readers count them too',
        )
      }
      return counts
    }),
  )
}

async function exportInto(app: Pick<App, 'store'>, input: ExportInput) {
  const { dir } = input
  let hadExport = false
  try {
    // A database that has moved may have written no change since, and so have no new line yet.
    const { database } = await app.store.transaction((tx) => followDatabase(tx))
    const { identity, line } = database
    const last = await openExportFolder(dir, database)
    hadExport = last !== undefined
    const before = last?.files ?? {}
    if (last && !trackFormatOf(last.also) !== !trackFormatOf(input.also)) {
      const held = trackFormatOf(last.also) ? 'tracks' : 'Parquet files'
      const message = `${dir} holds ${held}; name another folder, or run: ${exportCommand(dir, last.also)}`
      throw new ConfigError('not_an_export', message)
    }
    // Then all is written again: numbers that two lines give out may be the same, and mean other rows.
    const anew = last !== undefined && last.database?.line !== line
    const sinceCheckMs = Math.abs(Date.now() - Date.parse(last?.checked_at ?? ''))
    const thorough = input.kind === 'by_hand' || !(sinceCheckMs < CHECK_EVERY_MS)
    // Before the transaction: reading all files may take minutes, in which Postgres could not clean up.
    const whole = anew ? {} : await readWholeFiles(dir, before, { thorough, signal: input.signal })
    const checkedAt = thorough ? new Date().toISOString() : last?.checked_at
    // What was once asked for stays: the next export of a schedule would remove it.
    const also = ALSO.filter((one) => input.also?.includes(one) || last?.also?.includes(one))
    const { files, exportedAt, ...counts } = await writeChanges(app, { ...input, also }, whole)
    // A database that was restored from a backup of this one may have claimed it meanwhile.
    await claimFolderOrThrow(dir, database)
    await publish(dir, {
      ...{ musette: VERSION, exported_at: exportedAt, checked_at: checkedAt },
      ...{ database: { identity, line }, also, files },
    })
    const removed = Object.keys(before).filter((path) => !Object.hasOwn(files, path)).length
    // Parquet files in the folders of the tables that a reader would take for part of the export.
    const foreign = await readForeignFiles(dir, files)
    return { files: Object.keys(files).length, ...counts, removed, foreign, anew }
  } catch (error) {
    // What is staged with its manifest is complete, and the next export puts it in place.
    throw folderError(dir, hadExport, error)
  }
}

/** On a schedule all files are read once a day: a disk loses bytes seldom, and the export of a club has gigabytes. */
const CHECK_EVERY_MS = DAY

type Changes = {
  written: number
  samples: number
  bytes: number
  files: ExportedFiles
  exportedAt: string
} & {
  /** the files that cannot be made; what an earlier export wrote of them stays */
  skipped: Array<{ path: string; reason: string }>
}

/** Writes the missing or changed files next to the export, from one moment of the database. */
async function writeChanges(
  app: Pick<App, 'store'>,
  { dir, signal, onProgress, also }: ExportInput & { also: readonly Also[] },
  whole: ExportedFiles,
): Promise<Changes> {
  let encoder: EncoderThread | undefined
  try {
    return await app.store.read(async (tx) => {
      const { rows } = await tx.client.query<{ at: Date }>('select now() as at')
      const exportedAt = (rows[0]?.at ?? new Date()).toISOString()
      const changes: Changes = { files: {}, exportedAt, written: 0, samples: 0, bytes: 0, skipped: [] }
      const wanted = await findWantedFiles(tx, also)
      const changed: typeof wanted = []
      for (const one of wanted) {
        const known = whole[one.path]
        if (known?.fingerprint === one.fingerprint) changes.files[one.path] = known
        else changed.push(one)
      }
      const total = changed.reduce((sum, { rows }) => sum + rows, 0)
      let done = 0
      const encode: EncodeGroup = (group) => {
        encoder ??= openEncoderThread()
        return encoder.encode(group)
      }
      for (const { path, fingerprint, ...file } of changed) {
        signal?.throwIfAborted()
        let rows = 0
        const onRows = (more: number) => {
          signal?.throwIfAborted()
          rows += more
          onProgress?.({ done: done + Math.min(rows, file.rows), total })
        }
        const writing = writeStaged(dir, path, file.findPieces(tx, { onRows, encode }))
        const written = await writing.catch((error: unknown) => {
          if (!isOfOneFile(error)) throw error
          changes.skipped.push({ path, reason: errorLine(error) })
        })
        done += file.rows
        const known = whole[path]
        if (!written && known) changes.files[path] = known
        if (!written) continue
        changes.files[path] = { fingerprint, rows, ...written }
        changes.written += 1
        changes.bytes += written.bytes
        const [kind = ''] = path.split('/')
        if (kind === 'samples' || isTrackFormat(kind)) changes.samples += rows
      }
      return changes
    })
  } catch (error) {
    await removeStaged(dir).catch(() => undefined)
    throw error
  } finally {
    await encoder?.close()
  }
}

/** Turns a failure of the file system into a sentence; other errors stay. */
function folderError(dir: string, hadExport: boolean, error: unknown): unknown {
  if (error instanceof MusetteError || !(error instanceof Error && 'syscall' in error)) return error
  if (isDiskFull(error)) {
    const last = hadExport ? 'the last export is still there' : 'nothing was exported yet'
    const message = `the disk of ${dir} is full; ${last}; make room and run it again`
    return new TransientError('export_disk_full', message, { cause: error })
  }
  const message = `${dir} cannot be written (${errorLine(error)}); name a folder that this user may write`
  return new ConfigError('export_folder', message, { cause: error })
}

/** Exports the whole history into the folder of the configuration. Throws as exportAll does, and TransientError `export_no_folder`. */
export async function exportHistory(
  app: Pick<App, 'store' | 'config' | 'log'>,
  { signal }: { signal: AbortSignal },
): Promise<HandlerResult> {
  const { dir } = exportSettings.of(app.config)
  if (dir === undefined) {
    // Another worker may have the folder: the job is tried again, and may then reach that one.
    const message =
      'this worker has no folder for the export; set MUSETTE_EXPORT_DIR to the same folder for each process with the role worker'
    throw new TransientError('export_no_folder', message)
  }
  const counts = await exportAll(app, { dir, kind: 'schedule', signal })
  if (!counts || counts.written + counts.removed === 0) return undefined
  const { written, removed, samples, bytes } = counts
  return { counts: { written, removed, samples, bytes } }
}

/** A file that is not as it should be, and why. */
type ExportFault = { path: string; why: keyof typeof FAULTS }

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
): Promise<{ files: number; faults: ExportFault[]; run: string }> {
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
  return { files: Object.keys(files).length, faults, run: exportCommand(given, also) }
}

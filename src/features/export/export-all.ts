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

/** The result of an export: the number of files by outcome, and the samples and bytes of the written files. */
export type ExportCounts = NonNullable<Awaited<ReturnType<typeof exportAll>>>

type ExportInput = {
  dir: string
  /** the reason for the run, for its row in sync_runs */
  kind: 'schedule' | 'by_hand'
  /** the optional content of the folder; each export also keeps the optional content that an earlier export into the folder requested */
  also?: readonly Also[]
  signal?: AbortSignal
  /** called with the number of rows written so far and the number of all rows to write */
  onProgress?: (now: { done: number; total: number }) => void
}

/**
 * Exports a snapshot of all accounts' history as Parquet files, in folders by table, account and year. Writes only what has changed since
 * the last export into the folder, and changes the folder once all files are on the disk. Memory use does not grow with the history.
 * Returns undefined if another process exports at this time. Throws ConfigError `not_an_export`, `folder_of_another` and `export_folder`,
 * TransientError `export_disk_full`, and the signal's reason; after an error the last export stays.
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
          `${first.path} cannot be exported (${first.reason}); the other files can`,
        )
      if (anew)
        app.log.info(
          { dir: input.dir },
          'the whole export is written again, because the old export belongs to another line of the database',
        )
      if (foreign.length > 0) {
        app.log.warn(
          { files: foreign.length, first: foreign[0] },
          'the export folder holds Parquet files that do not belong to the export; readers count them too',
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
    // Checks the line first: a moved database that has written nothing since the move still has its old line.
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
    // If the line changed, write all files again, because two lines may give the same number to different rows.
    const anew = last !== undefined && last.database?.line !== line
    const sinceCheckMs = Math.abs(Date.now() - Date.parse(last?.checked_at ?? ''))
    const thorough = input.kind === 'by_hand' || !(sinceCheckMs < CHECK_EVERY_MS)
    // Read the files before the transaction starts: this may take minutes, and a long transaction blocks Postgres' cleanup.
    const whole = anew ? {} : await readWholeFiles(dir, before, { thorough, signal: input.signal })
    const checkedAt = thorough ? new Date().toISOString() : last?.checked_at
    // Keep content that was requested once; otherwise the next scheduled export would remove it.
    const also = ALSO.filter((one) => input.also?.includes(one) || last?.also?.includes(one))
    const { files, exportedAt, ...counts } = await writeChanges(app, { ...input, also }, whole)
    // A database restored from a backup of this database may have claimed the folder meanwhile.
    await claimFolderOrThrow(dir, database)
    await publish(dir, {
      ...{ musette: VERSION, exported_at: exportedAt, checked_at: checkedAt },
      ...{ database: { identity, line }, also, files },
    })
    const removed = Object.keys(before).filter((path) => !Object.hasOwn(files, path)).length
    // Parquet files of others in the tables' folders, which a reader would take for a part of the export.
    const foreign = await readForeignFiles(dir, files)
    return { files: Object.keys(files).length, ...counts, removed, foreign, anew }
  } catch (error) {
    // Staged files with a manifest are complete; the next export moves them into place.
    throw folderError(dir, hadExport, error)
  }
}

/** Interval between scheduled exports that read all files, ms: a disk rarely loses bytes, and a club's export has gigabytes. */
const CHECK_EVERY_MS = DAY

type Changes = {
  written: number
  samples: number
  bytes: number
  files: ExportedFiles
  exportedAt: string
} & {
  /** the files that cannot be made; their copies from an earlier export stay */
  skipped: Array<{ path: string; reason: string }>
}

/** Writes the missing or changed files to the staging folder, from one snapshot of the database. */
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

/** Maps a file system error to an error with a readable message; returns any other error unchanged. */
function folderError(dir: string, hadExport: boolean, error: unknown): unknown {
  if (error instanceof MusetteError || !(error instanceof Error && 'syscall' in error)) return error
  if (isDiskFull(error)) {
    const last = hadExport ? 'the last export is still there' : 'nothing has been exported yet'
    const message = `the disk of ${dir} is full; ${last}; make room and run it again`
    return new TransientError('export_disk_full', message, { cause: error })
  }
  const message = `${dir} cannot be written (${errorLine(error)}); name a folder that this user may write to`
  return new ConfigError('export_folder', message, { cause: error })
}

/** Exports the whole history into the configured folder. Throws as exportAll does, and TransientError `export_no_folder`. */
export async function exportHistory(
  app: Pick<App, 'store' | 'config' | 'log'>,
  { signal }: { signal: AbortSignal },
): Promise<HandlerResult> {
  const { dir } = exportSettings.of(app.config)
  if (dir === undefined) {
    // Another worker may have the folder, and the retry of the job may reach that worker.
    const message =
      'this worker has no folder for the export; set MUSETTE_EXPORT_DIR to the same folder for each process with the role worker'
    throw new TransientError('export_no_folder', message)
  }
  const counts = await exportAll(app, { dir, kind: 'schedule', signal })
  if (!counts || counts.written + counts.removed === 0) return undefined
  const { written, removed, samples, bytes } = counts
  return { counts: { written, removed, samples, bytes } }
}

type ExportFault = { path: string; why: keyof typeof FAULTS }

export const FAULTS = {
  damaged: 'its bytes changed since the export, or it is gone',
  stale:
    'the rows in the database changed, the database was restored, or another version of musette wrote the file',
  missing: 'the database holds rows that have not been exported yet',
  gone: 'the database no longer has its rows',
  foreign: 'it does not belong to this export, and readers count it too',
} as const

/**
 * Compares the folder of an export with the database: reads every file, and compares its fingerprint with the fingerprint of the current
 * rows. Writes nothing. Throws ConfigError `not_an_export` and `folder_of_another`, file system errors, and the signal's reason.
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

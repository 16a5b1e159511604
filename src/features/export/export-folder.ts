import { createHash } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { ConfigError } from '../../kit/errors.ts'
import {
  flushDirectory,
  openPlainFile,
  orMissing,
  orNone,
  readPlainFile,
  renameDurably,
  writeDurably,
} from '../../kit/files.ts'
import {
  claimFolderOrThrow,
  type DatabaseIdentity,
  folderOfAnother,
  OWNER_FILE,
  readForeign,
} from '../../kit/folders/folder-owner.ts'
import { parseIfJson } from '../../kit/json.ts'
import { quoteShell } from '../../kit/text.ts'
import { ALSO, type Also, isTrackFormat } from './export-formats.ts'

/** The manifest: it tells readers the content and the time of the export. */
const MANIFEST = 'musette-export.json'
/** The folder for files that are not all there yet. Its own manifest is written last: with it, they are. */
const STAGING = '.musette-staging'
/** Large enough for a hash to wait for the disk alone. */
const READ_BYTES = 1024 * 1024
/** What an empty disk holds. */
const NOTHING: ReadonlySet<string> = new Set([STAGING, OWNER_FILE, 'lost+found'])

const fileSchema = z.strictObject({
  fingerprint: z.string(),
  rows: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  // Files of earlier versions have neither.
  sha256: z.string().optional(),
  /** when its content was written, as the file system says, in ms */
  modified_ms: z.number().optional(),
})
/** A manifest that somebody has changed must not name files outside the folders of the tables. */
const pathSchema = z
  .string()
  .regex(
    /^(?:[a-z_]+\/account=[^/\\]*\/(?:year=[^/\\]+\/)?[\w-]+\.parquet|(?:originals|raw|gpx|tcx|geojson)\/account=[^/\\]*\/year=[^/\\]+\/[^/\\]+\.(?:fit|json\.gz|gpx|tcx|geojson))$/,
  )
const manifestSchema = z.strictObject({
  musette: z.string(),
  exported_at: z.iso.datetime(),
  // Files of earlier versions have none.
  database: z.object({ identity: z.uuid(), line: z.uuid() }).optional(),
  /** when every file was last read and compared with its checksum */
  checked_at: z.iso.datetime().optional(),
  /** its optional content */
  also: z.array(z.enum(ALSO)).optional(),
  files: z.record(pathSchema, fileSchema),
})

type Manifest = z.infer<typeof manifestSchema>

/** The files of an export by their path in its folder, with `/`. */
export type ExportedFiles = Manifest['files']

/**
 * Opens or creates the folder of an export, and returns its manifest. Completes an export that was stopped after all its files were
 * written, and removes the remains of any other. Throws ConfigError `not_an_export` for a folder of other files, `folder_of_another` for
 * another database's, and the file system's errors.
 */
export async function openExportFolder(dir: string, database: DatabaseIdentity) {
  await createFolder(dir)
  const foreign = await readForeignExport(dir, database)
  if (foreign) throw folderOfAnother(foreign)
  const manifest = await readExport(dir)
  if (!manifest && (await readdir(dir)).some((name) => !NOTHING.has(name)) && !(await readStaged(dir))) {
    const message = `${dir} holds other files and no export of musette; name an empty folder, or one that is not there yet`
    throw new ConfigError('not_an_export', message)
  }
  await claimFolderOrThrow(dir, database)
  if (await readStaged(dir)) await publishStaged(dir)
  else await removeStaged(dir)
  return readExport(dir)
}

/** Reads why a database leaves the folder of an export alone; undefined when it need not. Throws ConfigError `not_an_export`. */
export async function readForeignExport(dir: string, database: DatabaseIdentity) {
  for (const manifest of [await readExport(dir), await readStaged(dir)]) {
    const { identity } = manifest?.database ?? database
    if (identity === database.identity) continue
    const found = `${dir} holds the export of another database (identity ${identity}), so this one leaves it alone; name another folder, or remove that one when it is not needed`
    const own = `${dir}-${database.identity.slice(0, 8)}`
    return { found, run: exportCommand(own, manifest?.also) }
  }
  return readForeign(dir, database)
}

/** Finds the format of a folder of tracks; undefined of one of tables. */
export function trackFormatOf(also: readonly Also[] = []) {
  return also.find(isTrackFormat)
}

/** Writes the command that brings a folder up to date. */
export function exportCommand(dir: string, also?: readonly Also[]): string {
  const tracks = trackFormatOf(also)
  const into = tracks ? `--format ${tracks} --tracks` : '--to'
  return `musette export --all ${into} ${quoteShell(dir)}`
}

/** Reads the manifest of an export and changes nothing; undefined where there is none. Throws ConfigError `not_an_export`. */
export async function readExport(dir: string): Promise<Manifest | undefined> {
  return readManifest(join(dir, MANIFEST))
}

/**
 * Finds the files of the export that are there as they were written. Size and time of the last change tell that of most; the
 * others are read and compared with their checksum, all of them with `thorough`, because a bad disk changes no time.
 */
export async function readWholeFiles(
  dir: string,
  files: ExportedFiles,
  { thorough, signal }: { thorough: boolean; signal?: AbortSignal | undefined },
): Promise<ExportedFiles> {
  const whole: ExportedFiles = {}
  for (const [path, file] of Object.entries(files)) {
    signal?.throwIfAborted()
    const target = join(dir, path)
    const found = await stat(target).catch(() => undefined)
    if (!found?.isFile() || found.size !== file.bytes) continue
    const isRead = thorough || found.mtimeMs !== file.modified_ms
    // A file that cannot be read is written again.
    if (isRead && (await readChecksum(target).catch(() => undefined)) !== file.sha256) continue
    whole[path] = { ...file, modified_ms: found.mtimeMs }
  }
  return whole
}

async function readChecksum(path: string): Promise<string> {
  const hash = createHash('sha256')
  const file = await openPlainFile(path)
  for await (const chunk of file.createReadStream({ highWaterMark: READ_BYTES })) hash.update(chunk)
  return hash.digest('hex')
}

/** Writes a file next to the export, flushed to the disk. */
export async function writeStaged(dir: string, path: string, pieces: AsyncIterable<Uint8Array>) {
  const target = join(dir, STAGING, path)
  await createFolder(dirname(target))
  const file = await open(target, 'wx', 0o600)
  const hash = createHash('sha256')
  try {
    let bytes = 0
    for await (const piece of pieces) {
      await file.writeFile(piece)
      hash.update(piece)
      bytes += piece.length
    }
    await file.sync()
    return { bytes, sha256: hash.digest('hex'), modified_ms: (await file.stat()).mtimeMs }
  } finally {
    await file.close()
  }
}

/**
 * Makes the staged files and this manifest the export: from the moment at which the manifest is on the disk, the new export is
 * complete, and a crash after it is mended by the next call of openExportFolder.
 */
export async function publish(dir: string, manifest: Manifest): Promise<void> {
  await createFolder(join(dir, STAGING))
  await writeDurably(join(dir, STAGING, MANIFEST), `${JSON.stringify(manifest, undefined, 1)}\n`)
  await publishStaged(dir)
}

/** Removes what an export that does not go on has written so far; the export before it stays. */
export async function removeStaged(dir: string): Promise<void> {
  await rm(join(dir, STAGING), { recursive: true, force: true })
}

/** Finds the Parquet files that a reader of the tables' folders would find, but that are not of the export. */
export async function readForeignFiles(dir: string, files: ExportedFiles): Promise<string[]> {
  const tables = new Set(Object.keys(files).map((path) => path.split('/', 1)[0] as string))
  const foreign: string[] = []
  for (const table of tables) {
    for (const name of await readdir(join(dir, table), { recursive: true }).catch(orNone)) {
      const path = `${table}/${name.replaceAll('\\', '/')}`
      if (path.endsWith('.parquet') && !Object.hasOwn(files, path)) foreign.push(path)
    }
  }
  return foreign
}

/** Every step may be repeated: after a crash all of them run again. */
async function publishStaged(dir: string): Promise<void> {
  const next = await readStaged(dir)
  if (!next) return
  const before = (await readExport(dir))?.files ?? {}
  const folders = new Set<string>()
  for (const path of Object.keys(next.files)) {
    const staged = join(dir, STAGING, path)
    if (!(await stat(staged).catch(() => undefined))) continue
    await createFolder(dirname(join(dir, path)))
    await rename(staged, join(dir, path))
    folders.add(dirname(path))
  }
  for (const path of Object.keys(before).filter((path) => !Object.hasOwn(next.files, path))) {
    await rm(join(dir, path), { force: true })
    // A folder that is not empty cannot be removed.
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder))
      await rmdir(join(dir, folder)).catch(() => undefined)
  }
  for (const folder of folders) await flushDirectory(join(dir, folder))
  await renameDurably(join(dir, STAGING, MANIFEST), join(dir, MANIFEST))
  await removeStaged(dir)
}

/** Creates a folder that only its owner may open; an existing one keeps its mode. */
async function createFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
}

const readStaged = (dir: string) => readManifest(join(dir, STAGING, MANIFEST))

async function readManifest(path: string): Promise<Manifest | undefined> {
  const text = await readPlainFile(path).catch(orMissing)
  if (text === undefined) return undefined
  const { data, error } = manifestSchema.safeParse(parseIfJson(String(text)))
  if (data) return data
  const message = `${path} is not as musette wrote it; remove the folder, and the next export writes all of it`
  throw new ConfigError('not_an_export', message, { cause: error })
}

import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { ConfigError, errorCode, MusetteError } from '../../kit/errors.ts'
import { orMissing } from '../../kit/files.ts'
import { foldName, isPlainName } from '../../kit/folders/file-name.ts'
import { type Folder, type Name, openBelow, openFolder, SCRATCH } from '../../kit/folders/folder.ts'
import {
  claimFolderOrThrow,
  type DatabaseIdentity,
  folderOfAnother,
  OWNER_FILE,
  readForeign,
} from '../../kit/folders/folder-owner.ts'
import { type Steps, walkFolders } from '../../kit/folders/walk.ts'
import { parseIfJson } from '../../kit/json.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { quoteShell } from '../../kit/text.ts'
import { ALSO, type Also, isTrackFormat } from './export-formats.ts'

/** The manifest: the content and the time of the export. */
const MANIFEST = 'musette-export.json'
/** The folder for files of an unfinished export. Its manifest is written last and marks the files as complete. */
const STAGING = '.musette-staging'
/** Bytes per read, large so that hashing waits only for the disk. */
const READ_BYTES = 1024 * 1024
/** Only the owner may read an export, regardless of the umask. */
const FILE_MODE = 0o600
const FOLDER_MODE = 0o700
/** Entries of a folder that count as empty. */
const NOTHING: ReadonlySet<string> = new Set([STAGING, OWNER_FILE, 'lost+found'])

const fileSchema = z.strictObject({
  fingerprint: z.string(),
  rows: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  // optional, because manifests of earlier versions lack both members
  sha256: z.string().optional(),
  /** the file's modification time after the write, ms since 1970 */
  modified_ms: z.number().optional(),
})
/** Pattern of our files' paths in the folder. */
const PATH =
  /^(?:[a-z_]+\/account=[^/\\]*\/(?:year=[^/\\]+\/)?[\w-]+\.parquet|(?:originals|raw|gpx|tcx|geojson)\/account=[^/\\]*\/year=[^/\\]+\/[^/\\]+\.(?:fit|json\.gz|gpx|tcx|geojson))$/
/** Reports whether a path is one of ours. Other paths are never written, read or removed, even if a manifest names them. */
function isOurPath(path: string): boolean {
  return PATH.test(path) && path.split('/').every(isPlainName)
}

const manifestSchema = z.strictObject({
  musette: z.string(),
  exported_at: z.iso.datetime(),
  // optional, because manifests of earlier versions lack this member
  database: z.object({ identity: z.uuid(), line: z.uuid() }).optional(),
  /** the time of the last full read and comparison with the checksums */
  checked_at: z.iso.datetime().optional(),
  /** the optional content of the export */
  also: z.array(z.enum(ALSO)).optional(),
  // Drop paths outside the folders: earlier versions built file names from what the service sent.
  files: z
    .record(z.string(), fileSchema)
    .transform((files) => Object.fromEntries(Object.entries(files).filter(([path]) => isOurPath(path)))),
})

type Manifest = z.infer<typeof manifestSchema>

/** The files of an export, by their path in its folder (with `/`). */
export type ExportedFiles = Manifest['files']

/**
 * Opens or creates the folder of an export and returns its manifest. Completes an export that stopped after all its files were written;
 * removes the staged files of any other unfinished export. Throws ConfigError `not_an_export` for a folder with other files,
 * `folder_of_another` for another database's export, and file system errors.
 */
export async function openExportFolder(dir: string, database: DatabaseIdentity) {
  const entries = await closeAfter(await openFolder(dir, { mode: FOLDER_MODE }), (folder) => folder.list())
  const foreign = await readForeignExport(dir, database)
  if (foreign) throw folderOfAnother(foreign)
  const manifest = await readExport(dir)
  const hasOthers = entries.some(({ name }) => !NOTHING.has(String(name)))
  if (!manifest && hasOthers && !(await readStaged(dir))) {
    const message = `${dir} holds other files and no export of musette; name an empty folder or a new one`
    throw new ConfigError('not_an_export', message)
  }
  await claimFolderOrThrow(dir, database)
  if (await readStaged(dir)) await publishStaged(dir)
  else await removeStaged(dir)
  return readExport(dir)
}

/**
 * Returns the reason why a database must not use the folder of an export; undefined if the database may use the folder. Throws ConfigError
 * `not_an_export`.
 */
export async function readForeignExport(dir: string, database: DatabaseIdentity) {
  for (const manifest of [await readExport(dir), await readStaged(dir)]) {
    const { identity } = manifest?.database ?? database
    if (identity === database.identity) continue
    const found = `${dir} holds the export of another database (identity ${identity}), so this database does not touch it; name another folder, or remove this folder if nobody needs it`
    const own = `${dir}-${database.identity.slice(0, 8)}`
    return { found, run: exportCommand(own, manifest?.also) }
  }
  return readForeign(dir, database)
}

/** Returns the format of a folder of tracks; undefined for a folder of tables. */
export function trackFormatOf(also: readonly Also[] = []) {
  return also.find(isTrackFormat)
}

/** Returns the command that brings a folder up to date. */
export function exportCommand(dir: string, also?: readonly Also[]): string {
  const tracks = trackFormatOf(also)
  const into = tracks ? `--format ${tracks} --tracks` : '--to'
  return `musette export --all ${into} ${quoteShell(dir)}`
}

/** Reads the manifest of an export; returns undefined if there is none. Throws ConfigError `not_an_export`. */
export async function readExport(dir: string): Promise<Manifest | undefined> {
  return readManifest(dir, [])
}

/**
 * Finds the unchanged files of the export. Compares the size and the modification time of most files. Reads the other files, and with
 * `thorough` all files, and compares their checksums, because a bad disk changes bytes but no times.
 */
export async function readWholeFiles(
  dir: string,
  files: ExportedFiles,
  { thorough, signal }: { thorough: boolean; signal?: AbortSignal | undefined },
): Promise<ExportedFiles> {
  const whole: ExportedFiles = {}
  await closeAfter(folderCursor(dir), async (cursor) => {
    for (const [path, file] of Object.entries(files)) {
      signal?.throwIfAborted()
      const place = await cursor.find(path).catch(() => undefined)
      const found = await place?.folder.lstat(place.name).catch(() => undefined)
      if (!place || !found?.isFile() || found.size !== file.bytes) continue
      const isRead = thorough || found.mtimeMs !== file.modified_ms
      // A file that cannot be read counts as changed and is written again.
      if (isRead && (await readChecksum(place).catch(() => undefined)) !== file.sha256) continue
      whole[path] = { ...file, modified_ms: found.mtimeMs }
    }
  })
  return whole
}

/** The name of a file in an open folder. */
type FilePlace = { folder: Folder; name: string }

/** Opens folders one at a time, for paths grouped by folder: closes a folder at the first path in another folder. */
function folderCursor(dir: string, step: 'openInner' | 'makeInner' = 'openInner') {
  let at: string | undefined
  let folder: Folder | undefined
  const close = async () => {
    const closing = folder
    folder = undefined
    await closing?.close()
  }
  return {
    async find(path: string): Promise<FilePlace> {
      const [names, name] = splitPath(path)
      if (!folder || at !== dirname(path)) {
        await close()
        folder = await openBelow(dir, names, step, FOLDER_MODE)
        at = dirname(path)
      }
      return { folder, name }
    },
    close,
  }
}

function splitPath(path: string): [folders: string[], name: string] {
  const names = path.split('/')
  return [names.slice(0, -1), names.at(-1) as string]
}

async function readChecksum({ folder, name }: FilePlace): Promise<string> {
  const hash = createHash('sha256')
  const file = await folder.open(name)
  for await (const chunk of file.createReadStream({ highWaterMark: READ_BYTES })) hash.update(chunk)
  return hash.digest('hex')
}

/** Writes a file to the staging folder and flushes it to the disk. Throws MusetteError `unusable_name` for a path that is not ours. */
export async function writeStaged(dir: string, path: string, pieces: AsyncIterable<Uint8Array>) {
  if (!isOurPath(path)) throw new MusetteError('unusable_name', 'no manifest can have this name')
  const [names, name] = splitPath(`${STAGING}/${path}`)
  return closeAfter(await openBelow(dir, names, 'makeInner', FOLDER_MODE), async (folder) => {
    const file = await folder.create(name, FILE_MODE)
    try {
      const hash = createHash('sha256')
      let bytes = 0
      for await (const piece of pieces) {
        await file.writeFile(piece)
        hash.update(piece)
        bytes += piece.length
      }
      await file.sync()
      return { bytes, sha256: hash.digest('hex'), modified_ms: (await file.stat()).mtimeMs }
    } catch (error) {
      await folder.unlink(name).catch(() => undefined)
      throw error
    } finally {
      await file.close()
    }
  })
}

/**
 * Reports whether an error concerns a single file: the file's stored body is gone or damaged, or the manifest or the disk refuses the
 * file's name.
 */
export function isOfOneFile(error: unknown): boolean {
  return /^(?:kept_file_gone|Z_.*|unusable_name|ENAMETOOLONG|EINVAL|EILSEQ)$/.test(errorCode(error))
}

/**
 * Replaces the export by the staged files and this manifest. The new export is complete once its manifest is on the disk; after a crash,
 * the next call of openExportFolder moves the remaining files.
 */
export async function publish(dir: string, manifest: Manifest): Promise<void> {
  await closeAfter(await openBelow(dir, [STAGING], 'makeInner', FOLDER_MODE), async (staging) => {
    const how = { mode: FILE_MODE, replace: true }
    await staging.write(MANIFEST, `${JSON.stringify(manifest, undefined, 1)}\n`, how)
    await staging.sync()
  })
  await publishStaged(dir)
}

/** Removes the staged files of a failed export; the last export stays. */
export async function removeStaged(dir: string): Promise<void> {
  const root = await openFolder(dir).catch(orMissing)
  if (root) await closeAfter(root, (folder) => removeOurs(folder, STAGING))
}

/**
 * Removes a folder and the files in it whose names only musette uses; a folder with other files stays. `inside`: its path in the staging
 * folder.
 */
async function removeOurs(outer: Folder, name: Name, inside = ''): Promise<void> {
  const opened = await outer.openInner(name).catch(orMissing)
  if (!opened) return
  await closeAfter(opened, async (folder) => {
    for (const entry of await folder.list()) {
      const path = `${inside}${entry.name}`
      // Our other paths have no more levels than this.
      const isDeep = path.split('/').length >= 4 && !path.startsWith('raw/')
      if (entry.isDirectory() && !isDeep) await removeOurs(folder, entry.name, `${path}/`)
      else if (entry.isFile() && (isOurPath(path) || REMAINS.test(path) || SCRATCH.test(path)))
        await folder.unlink(entry.name).catch(orMissing)
    }
  })
  await outer.rmdir(name).catch(() => undefined)
}

/**
 * The manifest, its temporary name in earlier versions, and the `raw` documents in the deep folders that earlier versions made from a path
 * with slashes.
 */
const REMAINS = /^(?:musette-export\.json(?:\.[0-9a-f-]{36})?|raw\/account=.+\.json\.gz)$/s

/** Finds the Parquet files in the tables' folders that do not belong to the export, because a reader would take them for a part of it. */
export async function readForeignFiles(dir: string, files: ExportedFiles): Promise<string[]> {
  const tables = new Set(Object.keys(files).map((path) => path.split('/', 1)[0] as string))
  const known = new Set(Object.keys(files).map(foldName))
  const foreign: string[] = []
  for (const table of tables) {
    for (const path of await readPaths(dir, [table]))
      if (/\.parquet$|\/$/.test(path) && !known.has(foldName(path))) foreign.push(path)
  }
  return foreign
}

/** Lists the paths of the files in a folder of the export as the disk has them; for an unreadable folder, its own path with a final `/`. */
async function readPaths(dir: string, names: readonly string[]): Promise<string[]> {
  const paths: string[] = []
  const pathOf = (steps: Steps) => [...names, ...steps].join('/')
  const top = await openBelow(dir, names).catch(orMissing)
  if (!top) return paths
  const unreadable = await closeAfter(top, (folder) =>
    walkFolders(folder, async ({ steps, entries }) => {
      for (const entry of entries) if (!entry.isDirectory()) paths.push(pathOf([...steps, entry.name]))
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    }),
  )
  return paths.concat(unreadable.map(({ steps }) => `${pathOf(steps)}/`))
}

/** Every step may be repeated, because after a crash all steps run again. */
async function publishStaged(dir: string): Promise<void> {
  const next = await readStaged(dir)
  if (!next) return
  const before = (await readExport(dir))?.files ?? {}
  const gone = Object.keys(before).filter((path) => !Object.hasOwn(next.files, path))
  const goneByKey = new Map(gone.map((path) => [foldName(path), path]))
  const staged = folderCursor(dir)
  const placed = folderCursor(dir, 'makeInner')
  const folders = new Set<string>()
  try {
    for (const path of Object.keys(next.files)) {
      const from = await staged.find(`${STAGING}/${path}`).catch(orMissing)
      if (!(await from?.folder.lstat(from.name).catch(orMissing))) continue
      // On a case-insensitive disk the new file replaces the old one and could keep its name, so remove the old one first.
      const twin = goneByKey.get(foldName(path))
      if (twin !== undefined) await removeExported(dir, twin)
      const to = await placed.find(path)
      await from?.folder.rename(from.name, to.folder, to.name)
      folders.add(dirname(path))
    }
  } finally {
    await staged.close()
    await placed.close()
  }
  const twins = new Set(Object.keys(next.files).map(foldName))
  const listed = new Set(gone.some((path) => twins.has(foldName(path))) ? await readPaths(dir, []) : [])
  // Only the disk's listing shows whether a name is an old file or another spelling of a new file's name; on some file systems inodes do
  // not show this.
  for (const path of gone) if (!twins.has(foldName(path)) || listed.has(path)) await removeExported(dir, path)
  for (const path of folders)
    await closeAfter(await openBelow(dir, path.split('/')), (folder) => folder.sync())
  await closeAfter(await openFolder(dir), async (root) => {
    await closeAfter(await root.openInner(STAGING), (staging) => staging.rename(MANIFEST, root, MANIFEST))
    await root.sync()
  })
  await removeStaged(dir)
}

/** Removes a file of the export, and folders that are empty afterwards. */
async function removeExported(dir: string, path: string): Promise<void> {
  let [names, name] = splitPath(path)
  const folder = await openBelow(dir, names).catch(orMissing)
  if (!folder) return
  await closeAfter(folder, (opened) => opened.unlink(name).catch(orMissing))
  for (; names.length > 0; names = names.slice(0, -1)) {
    const [above, last] = splitPath(names.join('/'))
    // rmdir fails on a folder that is not empty; that folder stays.
    await closeAfter(await openBelow(dir, above), (outer) => outer.rmdir(last).catch(() => undefined))
  }
}

const readStaged = (dir: string) => readManifest(dir, [STAGING])

async function readManifest(dir: string, names: readonly string[]): Promise<Manifest | undefined> {
  const folder = await openBelow(dir, names).catch(orMissing)
  const text = folder && (await closeAfter(folder, (opened) => opened.read(MANIFEST).catch(orMissing)))
  if (text === undefined) return undefined
  const path = join(dir, ...names, MANIFEST)
  const { data, error } = manifestSchema.safeParse(parseIfJson(String(text)))
  if (data) return data
  const message = `${path} was changed since musette wrote it; remove the folder, and the next export writes all files again`
  throw new ConfigError('not_an_export', message, { cause: error })
}

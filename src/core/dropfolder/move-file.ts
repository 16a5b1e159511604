import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, stat, unlink } from 'node:fs/promises'
import { ConfigError, errorCode } from '../../kit/errors.ts'
import { openFolderToFlush, openPlainFile, orMissing } from '../../kit/files.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { formatMoment } from '../../kit/time.ts'
import { moveToFolder, textName } from './move-to-folder.ts'
import {
  DONE,
  FAILED,
  type Found,
  folderOf,
  hasSameContent,
  identityOf,
  isUnchanged,
  joinPath,
  nameOf,
} from './walk-folder.ts'

/** The result of a move. `gone`: another process moved the file. `changed`: another file is in its place. `textError`: why it has no text. */
type Moved =
  | { outcome: 'moved'; path: Buffer; textError?: unknown }
  | { outcome: 'gone' }
  | { outcome: 'changed' }

const TEXT_FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT

type MoveInput = Pick<Found, 'path' | 'root' | 'home' | 'rawName' | 'identity'>

/**
 * Moves an uploaded file to `done/<year-month>/` below its account's folder, under its own name or a numbered one. Nothing
 * is overwritten or deleted; both folders are synced. `at` is the current time, its month taken in UTC. Throws Node's
 * errors, and ConfigError `drop_folder_link` when `done` is a link or a file.
 */
export async function moveDone(file: MoveInput, at: Date): Promise<Moved> {
  return moveInto(file, [DONE, at.toISOString().slice(0, 7)])
}

/**
 * Moves a refused file to `failed/` below its account's folder, then writes `text` (the reason and the remedy) to `<name>.txt`, or appends
 * it there. After a crash between the two steps the text is missing; the ledger has the reason.
 */
export async function moveFailed(file: MoveInput, at: Date, text: string): Promise<Moved> {
  let textError: unknown
  const moved = await moveInto(file, [FAILED], async (folder, name) => {
    const path = joinPath(folder.via, textName(name))
    await appendText(path, `${formatMoment(at)}\n${text.trim()}\n`).catch((error: unknown) => {
      textError = error
    })
  })
  return moved.outcome === 'moved' && textError !== undefined ? { ...moved, textError } : moved
}

async function moveInto(
  file: MoveInput,
  folders: readonly string[],
  afterwards?: (folder: OpenFolder, name: Buffer) => Promise<void>,
): Promise<Moved> {
  const before = await lstat(file.path).catch(orMissing)
  if (!before) return { outcome: 'gone' }
  if (!before.isFile() || !isUnchanged(file.identity, identityOf(before))) return { outcome: 'changed' }
  const own = file.home.equals(file.root) ? [] : [nameOf(file.home)]
  const names = [...own, ...folders.map((name) => Buffer.from(name))]
  return closeAfter(await openFolder(file.root, names), async (folder) => {
    const target = await moveToFolder(file.path, folder.via, file.rawName)
    if (!target) return { outcome: 'gone' }
    const moved = await lstat(target).catch(orMissing)
    // Another process that watches this folder has moved it back, because the file had changed.
    if (!moved) return { outcome: 'gone' }
    // A new file may have got the name between the check and the move; it was not imported, so it is moved back.
    if (!hasSameContent(file.identity, identityOf(moved))) {
      await moveToFolder(target, folderOf(file.path), file.rawName)
      return { outcome: 'changed' }
    }
    await folder.sync()
    await syncFolder(folderOf(file.path))
    const name = nameOf(target)
    await afterwards?.(folder, name)
    return { outcome: 'moved', path: joinPath(folder.path, name) }
  })
}

/** Syncs a folder where the system allows it; elsewhere the rename is durable already, or cannot be made durable. */
async function syncFolder(folder: Buffer): Promise<void> {
  const handle = await openFolderToFlush(folder).catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}

/** Appends the whole text or nothing: a full disk must not leave an empty or cut text. */
async function appendText(path: Buffer, text: string): Promise<void> {
  await closeAfter(await openPlainFile(path, TEXT_FLAGS, 0o644), async (file) => {
    const { size } = await file.stat()
    try {
      await file.appendFile(text)
      await file.sync()
    } catch (error) {
      if (size > 0) await file.truncate(size).catch(() => undefined)
      else await unlink(path).catch(() => undefined)
      throw error
    }
  })
}

/** A folder that stays the same one while it is open: `via` is the path to use, `path` the one to show. */
type OpenFolder = { path: Buffer; via: Buffer; sync(): Promise<void>; close(): Promise<void> }

const FOLDER_FLAGS = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0)
const NO_LINK = constants.O_NOFOLLOW ?? 0

/**
 * Opens the folders `names` below the drop folder one inside the other, creates the missing ones, and keeps the last one open. On Linux
 * files are then moved through the open folder, so that a link put in its place meanwhile moves nothing out of the drop folder; elsewhere
 * the name is checked. Throws ConfigError `drop_folder_link` when one of them is a link or a file.
 */
async function openFolder(root: Buffer, names: readonly Buffer[]): Promise<OpenFolder> {
  // The drop folder itself may be a link: its owner has set it.
  let folder = await openOne(root, root, 0)
  for (const name of names) folder = await closeAfter(folder, (outer) => openInner(outer, name))
  return folder
}

async function openInner(outer: OpenFolder, name: Buffer): Promise<OpenFolder> {
  const path = joinPath(outer.path, name)
  const via = joinPath(outer.via, name)
  try {
    return await openOne(path, via, NO_LINK)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOTDIR' || code === 'ELOOP') throw isLink(path)
    if (code !== 'ENOENT') throw error
  }
  await mkdir(via).catch((error: unknown) => {
    // Another daemon on the same folder created it first.
    if (errorCode(error) !== 'EEXIST') throw error
  })
  return openOne(path, via, NO_LINK)
}

async function openOne(path: Buffer, via: Buffer, noLink: number): Promise<OpenFolder> {
  const handle = await open(via, FOLDER_FLAGS | noLink).catch((error: unknown) => {
    // A folder may allow writing and not reading, and some systems open no folder at all.
    if (['EACCES', 'EPERM', 'EISDIR'].includes(errorCode(error))) return undefined
    throw error
  })
  if (!handle) {
    const stats = noLink === 0 ? await stat(via) : await lstat(via)
    if (!stats.isDirectory()) throw isLink(path)
    return { path, via, sync: async () => undefined, close: async () => undefined }
  }
  return {
    path,
    via: (await pathOfHandle(handle)) ?? via,
    sync: () => handle.sync().catch(() => undefined),
    close: () => handle.close(),
  }
}

/** Returns a path into an open folder that stays right when the folder is renamed; undefined where the system has none. */
async function pathOfHandle(handle: FileHandle): Promise<Buffer | undefined> {
  const via = `/proc/self/fd/${handle.fd}`
  const [own, reached] = await Promise.all([handle.stat(), stat(via).catch(() => undefined)])
  return reached?.ino === own.ino && reached.dev === own.dev ? Buffer.from(via) : undefined
}

function isLink(path: Buffer): ConfigError {
  return new ConfigError(
    'drop_folder_link',
    `drop folder: ${path.toString()} is a link or a file; remove it, so that a folder can be made there`,
  )
}

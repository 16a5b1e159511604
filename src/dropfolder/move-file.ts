import { constants } from 'node:fs'
import { lstat, open, unlink } from 'node:fs/promises'
import { errorCode } from '../kit/errors.ts'
import { type HeldFolder, holdFolder } from './held-folder.ts'
import { placeFile, textName } from './move-target.ts'
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
} from './walk.ts'

/** `untold`: why the text beside a failed file is missing. `changed`: another file lies in the place of the one that was taken, and stays there. `gone`: somebody else moved it. */
type Moved =
  | { outcome: 'moved'; path: Buffer; untold?: unknown }
  | { outcome: 'gone' }
  | { outcome: 'changed' }

const TEXT_FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0)

type MoveInput = Pick<Found, 'path' | 'home' | 'rawName' | 'identity'>

/**
 * Moves a file that has arrived to `done/<year-month>/` below its account's folder, under its own name or a numbered
 * one. Nothing is overwritten or deleted; both folders are synced. `at` is now, its month taken in UTC. Throws Node's
 * errors, and ConfigError `drop_folder_link` when `done` is no folder of its own.
 */
export async function moveDone(file: MoveInput, at: Date): Promise<Moved> {
  return moveInto(file, [DONE, at.toISOString().slice(0, 7)])
}

/**
 * Moves a file that was refused to `failed/` below its account's folder, then writes `text` to `<name>.txt` beside
 * it: why, and what to do. A crash between the two leaves a failed file without a text, and nothing to do. The text is added at
 * the end when the file failed before.
 */
export async function moveFailed(file: MoveInput, at: Date, text: string): Promise<Moved> {
  const day = at.toISOString().slice(0, 16).replace('T', ' ')
  let untold: unknown
  const moved = await moveInto(file, [FAILED], async (folder, name) => {
    await appendText(joinPath(folder.via, textName(name)), `${day} UTC\n${text.trim()}\n`).catch(
      (error: unknown) => {
        untold = error
      },
    )
  })
  return moved.outcome === 'moved' && untold !== undefined ? { ...moved, untold } : moved
}

async function moveInto(
  file: MoveInput,
  folders: readonly string[],
  afterwards?: (folder: HeldFolder, name: Buffer) => Promise<void>,
): Promise<Moved> {
  const before = await lstat(file.path).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  })
  if (!before) return { outcome: 'gone' }
  if (!before.isFile() || !isUnchanged(file.identity, identityOf(before))) return { outcome: 'changed' }
  const folder = await holdFolder(file.home, folders)
  try {
    const target = await placeFile(file.path, folder.via, file.rawName)
    if (!target) return { outcome: 'gone' }
    // Between the look and the move a new file may have come under the name; it has not been taken, so it goes back.
    if (!hasSameContent(file.identity, identityOf(await lstat(target)))) {
      await placeFile(target, folderOf(file.path), file.rawName)
      return { outcome: 'changed' }
    }
    await folder.sync()
    await syncFolder(folderOf(file.path))
    const name = nameOf(target)
    await afterwards?.(folder, name)
    return { outcome: 'moved', path: joinPath(folder.path, name) }
  } finally {
    await folder.close()
  }
}

/** Only on some systems a folder can be opened and synced; elsewhere the rename is durable or nothing can be done. */
async function syncFolder(folder: Buffer): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  if (!handle) return
  try {
    await handle.sync().catch(() => undefined)
  } finally {
    await handle.close()
  }
}

/** Appends the whole text or nothing: a full disk must not leave an empty file that looks like an answer. */
async function appendText(path: Buffer, text: string): Promise<void> {
  const file = await open(path, TEXT_FLAGS, 0o644)
  const { size } = await file.stat()
  try {
    await file.appendFile(text)
    await file.sync()
  } catch (error) {
    if (size > 0) await file.truncate(size).catch(() => undefined)
    else await unlink(path).catch(() => undefined)
    throw error
  } finally {
    await file.close()
  }
}

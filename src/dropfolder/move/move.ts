import { constants } from 'node:fs'
import { lstat, mkdir, open } from 'node:fs/promises'
import { ConfigError, errorCode } from '../../kit/errors.ts'
import { hasSameContent, identityOf, isUnchanged } from '../disk/identity.ts'
import { DONE, FAILED } from '../disk/ignored.ts'
import { folderOf, joinPath } from '../disk/paths.ts'
import type { Found } from '../disk/walk.ts'
import { textName } from './names.ts'
import { placeFile } from './place.ts'

/** `untold`: why the text beside a failed file is missing. `changed`: another file lies in the place of the one that was taken, and stays there. `gone`: somebody else moved it. */
export type Moved =
  | { outcome: 'moved'; path: Buffer; untold?: unknown }
  | { outcome: 'gone' }
  | { outcome: 'changed' }

const TEXT_FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0)

export type MoveInput = Pick<Found, 'path' | 'home' | 'rawName' | 'identity'>

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
  const moved = await moveInto(file, [FAILED])
  if (moved.outcome !== 'moved') return moved
  const name = moved.path.subarray(folderOf(moved.path).length + 1)
  const day = at.toISOString().slice(0, 16).replace('T', ' ')
  try {
    await appendText(joinPath(folderOf(moved.path), textName(name)), `${day} UTC\n${text.trim()}\n`)
    return moved
  } catch (error) {
    return { ...moved, untold: error }
  }
}

async function moveInto(file: MoveInput, folders: string[]): Promise<Moved> {
  const before = await lstat(file.path).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  })
  if (!before) return { outcome: 'gone' }
  if (!before.isFile() || !isUnchanged(file.identity, identityOf(before))) return { outcome: 'changed' }
  const folder = await openFolders(file.home, folders)
  const target = await placeFile(file.path, folder, file.rawName)
  if (!target) return { outcome: 'gone' }
  // Between the look and the move a new file may have come under the name; it has not been taken, so it goes back.
  if (!hasSameContent(file.identity, identityOf(await lstat(target)))) {
    await placeFile(target, folderOf(file.path), file.rawName)
    return { outcome: 'changed' }
  }
  await syncFolder(folder)
  await syncFolder(folderOf(file.path))
  return { outcome: 'moved', path: target }
}

async function openFolders(home: Buffer, names: string[]): Promise<Buffer> {
  let folder = home
  for (const name of names) {
    folder = joinPath(folder, name)
    try {
      await mkdir(folder)
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error
    }
    if (!(await lstat(folder)).isDirectory()) {
      throw new ConfigError(
        'drop_folder_link',
        `drop folder: ${folder.toString()} is a link or a file; remove it, so that a folder can be made there`,
      )
    }
  }
  return folder
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

async function appendText(path: Buffer, text: string): Promise<void> {
  const file = await open(path, TEXT_FLAGS, 0o644)
  try {
    await file.appendFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

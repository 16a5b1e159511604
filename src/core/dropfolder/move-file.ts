import { constants } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '../../kit/errors.ts'
import { orMissing } from '../../kit/files.ts'
import { type Folder, openBelow } from '../../kit/folders/folder.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { formatMoment } from '../../kit/time.ts'
import { type MoveFile, textName } from './move-to-folder.ts'
import type { MovedTo } from './moved-files.ts'
import {
  DONE,
  FAILED,
  type Found,
  hasSameContent,
  identityOf,
  isUnchanged,
  type Steps,
} from './walk-folder.ts'

/** Outcome of a move. `gone`: another process moved the file. `changed`: another file took its place. `textError`: why the text file was not written. */
type Moved =
  | { outcome: 'moved'; to: MovedTo; inode: number; textError?: unknown }
  | { outcome: 'gone' }
  | { outcome: 'changed' }

const TEXT_FLAGS = constants.O_WRONLY | constants.O_APPEND

type MoveDeps = { move: MoveFile; at: Date }

type MoveInput = Pick<Found, 'root' | 'home' | 'folder' | 'rawName' | 'identity'>

/**
 * Moves an imported file to `done/<year-month>/` in its account's folder, under its own name or a numbered one. Overwrites and deletes
 * nothing, syncs both folders, and creates missing folders with the mode of their parent. `at` is the current time; its month is taken in
 * UTC. Throws Node's errors, and ConfigError `not_a_folder` if `done` or a folder of the file is a link or a file.
 */
export async function moveDone({ move, at }: MoveDeps, file: MoveInput): Promise<Moved> {
  return moveInto(move, file, stepsTo(file, DONE, at.toISOString().slice(0, 7)))
}

/**
 * Moves a refused file to `failed/` in its account's folder, then writes or appends `text` (the reason and the remedy) to `<name>.txt`. A
 * crash between the two steps loses `text`, but the ledger has the reason.
 */
export async function moveFailed({ move, at }: MoveDeps, file: MoveInput, text: string): Promise<Moved> {
  let textError: unknown
  const moved = await moveInto(move, file, stepsTo(file, FAILED), async (folder, name) => {
    await appendText(folder, textName(name), `${formatMoment(at)}\n${text.trim()}\n`).catch(
      (error: unknown) => {
        textError = error
      },
    )
  })
  return moved.outcome === 'moved' && textError !== undefined ? { ...moved, textError } : moved
}

function stepsTo({ home }: MoveInput, ...names: string[]): Steps {
  return [...home, ...names.map((name) => Buffer.from(name))]
}

async function moveInto(
  move: MoveFile,
  file: MoveInput,
  into: Steps,
  afterwards?: (folder: Folder, name: Buffer) => Promise<void>,
): Promise<Moved> {
  const { root, folder, rawName: name } = file
  const opened = await openBelow(root, folder).catch(orMissing)
  if (!opened) return { outcome: 'gone' }
  return closeAfter(opened, async (source) => {
    const before = await source.lstat(name).catch(orMissing)
    if (!before) return { outcome: 'gone' }
    if (!before.isFile() || !isUnchanged(file.identity, identityOf(before))) return { outcome: 'changed' }
    return closeAfter(await openBelow(root, into, 'makeInner'), async (target) => {
      const newName = await move({ folder: source, name }, { folder: target, name })
      const moved = newName && (await target.lstat(newName).catch(orMissing))
      // Or another process that watches this folder moved the file back, because it had changed.
      if (!moved) return { outcome: 'gone' }
      // A new file may have taken the name between the check and the move. It was not imported, so it is moved back.
      if (!hasSameContent(file.identity, identityOf(moved))) {
        await move({ folder: target, name: newName }, { folder: source, name })
        return { outcome: 'changed' }
      }
      await target.sync()
      await source.sync()
      await afterwards?.(target, newName)
      const path = join(target.path, newName.toString())
      return { outcome: 'moved', to: { folder: into, name: newName, path }, inode: moved.ino }
    })
  })
}

/** Appends the whole text or nothing, because a full disk must not leave an empty or incomplete file. */
async function appendText(folder: Folder, name: Buffer, text: string): Promise<void> {
  const file = await folder.create(name, 0o644, TEXT_FLAGS).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error
    return folder.open(name, TEXT_FLAGS)
  })
  await closeAfter(file, async () => {
    const { size } = await file.stat()
    try {
      await file.appendFile(text)
      await file.sync()
    } catch (error) {
      if (size > 0) await file.truncate(size).catch(() => undefined)
      else await folder.unlink(name).catch(() => undefined)
      throw error
    }
  })
}

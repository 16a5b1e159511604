import type { Stats } from 'node:fs'
import { access, constants, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorCode } from '../../../kit/errors.ts'
import { commandToUse } from '../../../kit/files.ts'
import { quoteShell } from '../../../kit/text.ts'
import { type Finding, problem } from './finding.ts'

/** Reads the file status of a folder. `stats` is undefined if the folder does not exist; `wrong` is the finding if the folder cannot be used. */
export async function readFolder(
  path: string,
  variable: string,
): Promise<{ stats: Stats | undefined } | { wrong: Finding }> {
  try {
    const stats = await stat(path)
    if (stats.isDirectory()) return { stats }
    return { wrong: problem('configuration', `${path} is not a folder`, ownFolderCommand(variable)) }
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { stats: undefined }
    if (errorCode(error) === 'EACCES') return { wrong: await deniedFinding(path, 'it is not used') }
    const found = `${path} cannot be looked at (${errorCode(error)}); set ${variable} to a folder of yours`
    return { wrong: problem('configuration', found, ownFolderCommand(variable)) }
  }
}

/** Returns the command that sets a folder in the user's home; musette creates that folder. */
function ownFolderCommand(variable: string): string {
  const name = variable.replace(/^MUSETTE_|_DIR$/g, '').toLowerCase()
  const folder = name === 'data' ? '.musette' : `musette-${name}`
  return `export ${variable}="$HOME/${folder}"`
}

/** Checks that this user can write to a folder or create it; `loss` names the consequence if the user cannot. */
export async function readWritableFolder(
  path: string,
  variable: string,
  loss: string,
): Promise<{ stats: Stats | undefined } | { wrong: Finding }> {
  const folder = await readFolder(path, variable)
  if ('wrong' in folder || (await isAllowed(await readNearestFolder(path), 'write'))) return folder
  return { wrong: await deniedFinding(path, loss) }
}

/** Reports whether this user may read and enter a folder and, with `write`, change it. */
export async function isAllowed(path: string, right: 'read' | 'write'): Promise<boolean> {
  const rights = constants.R_OK | constants.X_OK | (right === 'write' ? constants.W_OK : 0)
  return access(path, rights)
    .then(() => true)
    .catch(() => false)
}

/** Finds the nearest existing folder at or above a path. */
export async function readNearestFolder(path: string): Promise<string> {
  for (let folder = path; ; folder = dirname(folder)) {
    const stats = await stat(folder).catch(() => undefined)
    if (stats?.isDirectory() || folder === dirname(folder)) return folder
  }
}

/** Makes the finding for a folder that this user may not use or create; `loss` names the consequence. */
export async function deniedFinding(path: string, loss: string): Promise<Finding> {
  const folder = await readNearestFolder(path)
  const code = errorCode(await access(folder, constants.W_OK).catch((error: unknown) => error))
  const isFixed = code === 'EROFS'
  const found = `${path} ${isFixed ? 'is on a disk that is mounted read-only' : 'cannot be used by this user'}, so ${loss}`
  return problem('configuration', found, isFixed ? `df ${quoteShell(folder)}` : await commandToUse(path))
}

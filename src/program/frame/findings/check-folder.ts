import type { Stats } from 'node:fs'
import { access, constants, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorCode } from '../../../kit/errors.ts'
import { commandToUse } from '../../../kit/files.ts'
import { quoteShell } from '../../../kit/text.ts'
import { type Finding, problem } from './finding.ts'

/** Reads the file status of a folder, undefined when it does not exist, or returns the finding of its fault. */
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

/** Returns the command that sets a folder of the user, which musette makes. */
function ownFolderCommand(variable: string): string {
  const name = variable.replace(/^MUSETTE_|_DIR$/g, '').toLowerCase()
  const folder = name === 'data' ? '.musette' : `musette-${name}`
  return `export ${variable}="$HOME/${folder}"`
}

/** Checks that this user can write or create a folder; `loss` names the consequence otherwise. */
export async function readWritableFolder(
  path: string,
  variable: string,
  loss: string,
): Promise<{ stats: Stats | undefined } | { wrong: Finding }> {
  const folder = await readFolder(path, variable)
  if ('wrong' in folder || (await isAllowed(await readNearestFolder(path), 'write'))) return folder
  return { wrong: await deniedFinding(path, loss) }
}

/** Tells whether this user may read, enter and, with `write`, change a folder. */
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

/** Makes the finding of a folder that this user may not use or create; `loss` names the consequence. */
export async function deniedFinding(path: string, loss: string): Promise<Finding> {
  const folder = await readNearestFolder(path)
  const code = errorCode(await access(folder, constants.W_OK).catch((error: unknown) => error))
  const isFixed = code === 'EROFS'
  const found = `${path} ${isFixed ? 'is on a disk that is mounted read-only' : 'cannot be used by this user'}, so ${loss}`
  return problem('configuration', found, isFixed ? `df ${quoteShell(folder)}` : await commandToUse(path))
}

import type { Stats } from 'node:fs'
import { access, constants, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorCode } from '../../../kit/errors.ts'
import { type Finding, problem } from '../finding.ts'

/** Looks at a folder: what the disk says of it, undefined when it is not there, or the finding of what is wrong with it. */
export async function readFolder(
  path: string,
  variable: string,
): Promise<{ stats: Stats | undefined } | { wrong: Finding }> {
  try {
    const stats = await stat(path)
    if (stats.isDirectory()) return { stats }
    return { wrong: problem('configuration', `${path} is no folder`, `export ${variable}=…`) }
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { stats: undefined }
    const found = `${path} cannot be looked at (${errorCode(error)}); set ${variable} to a folder of yours`
    return { wrong: problem('configuration', found, `export ${variable}=…`) }
  }
}

/** Whether this user may read, enter and, with `write`, change a folder. */
export async function isAllowed(path: string, right: 'read' | 'write'): Promise<boolean> {
  const rights = constants.R_OK | constants.X_OK | (right === 'write' ? constants.W_OK : 0)
  return access(path, rights).then(
    () => true,
    () => false,
  )
}

/** The nearest folder above a path that is there. */
export async function findExisting(path: string): Promise<string> {
  for (let folder = path; ; folder = dirname(folder)) {
    const isThere = await stat(folder).then(
      (stats) => stats.isDirectory(),
      () => false,
    )
    if (isThere || folder === dirname(folder)) return folder
  }
}

/** Writes a path as a shell takes it. */
export function quote(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}

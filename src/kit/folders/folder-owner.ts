import { join } from 'node:path'
import { ConfigError, errorCode, isDiskFull } from '../errors.ts'
import { orMissing } from '../files.ts'
import { parseIfJson } from '../json.ts'
import { closeAfter } from '../release-stack.ts'
import { quoteShell } from '../text.ts'
import { openFolder } from './folder.ts'

/** Identifies a database, and the database's history since its last restore. */
export type DatabaseIdentity = Readonly<{
  /** a UUID created with the tables; a restore keeps it */
  identity: string
  /** a UUID that each restore replaces */
  line: string
  /** the values of `line` before its restores */
  earlierLines: readonly string[]
}>

/** Hidden file that says which database uses the folder. */
export const OWNER_FILE = '.musette-database.json'

const NOT_WRITABLE: readonly string[] = ['EROFS', 'EACCES', 'EPERM']

/** The database that uses a folder, according to the hidden file in the folder. */
type Owner = Pick<DatabaseIdentity, 'identity' | 'line'>

/** Why a database leaves a folder alone, as a phrase, and the command that hands the folder over. */
export type ForeignFolder = { found: string; run: string }

/**
 * Claims a folder for this database with a file in it and returns undefined, or returns why it may not and writes nothing. Claims a folder
 * without the file, or a folder that this database used before its restore. A folder that cannot be written is not claimed but may be used.
 * Throws Node's errors of the disk.
 */
export async function claimFolder(dir: string, database: DatabaseIdentity) {
  const { identity, line } = database
  const owner = await readOwner(dir)
  const foreign = describeForeign(dir, owner, database)
  if (foreign || owner?.line === line) return foreign
  const about = 'the musette database that uses this folder; other databases leave it alone'
  const content = `${JSON.stringify({ about, identity, line }, undefined, 2)}\n`
  try {
    const how = { mode: 0o644, replace: owner !== undefined }
    await closeAfter(await openFolder(dir), (folder) => folder.write(OWNER_FILE, content, how))
  } catch (error) {
    const code = errorCode(error)
    if (isDiskFull(error) || NOT_WRITABLE.includes(code)) return undefined
    if (code !== 'EEXIST') throw error
  }
  // Another database may have claimed it at the same time.
  return describeForeign(dir, await readOwner(dir), database)
}

/** Returns why this database leaves a folder alone; undefined if it may use the folder. Changes nothing. Throws Node's errors of the disk. */
export async function readForeign(dir: string, database: DatabaseIdentity) {
  return describeForeign(dir, await readOwner(dir), database)
}

/** Claims a folder like claimFolder. Throws ConfigError `folder_of_another` if another database uses it. */
export async function claimFolderOrThrow(dir: string, database: DatabaseIdentity): Promise<void> {
  const foreign = await claimFolder(dir, database)
  if (foreign) throw folderOfAnother(foreign)
}

/** Makes the error for a folder that another database uses. */
export function folderOfAnother({ found, run }: ForeignFolder): ConfigError {
  return new ConfigError('folder_of_another', `${found}; nothing is written; run: ${run}`)
}

/** Returns why a database leaves alone a folder with this owner; undefined if it may use the folder. */
export function describeForeign(
  dir: string,
  owner: Owner | undefined,
  { identity, line, earlierLines }: DatabaseIdentity,
): ForeignFolder | undefined {
  if (!owner || (owner.identity === identity && [line, ...earlierLines].includes(owner.line)))
    return undefined
  const run = `rm ${quoteShell(join(dir, OWNER_FILE))}`
  const whose =
    owner.identity === identity
      ? 'another database with the same identity (one is a copy of the other, or was restored from its backup)'
      : `another database (identity ${owner.identity})`
  const found = `${dir} is used by ${whose}, so this database leaves it alone; choose another folder or, if that database no longer runs, hand the folder over`
  return { found, run }
}

/** Reads which database uses a folder; returns undefined if none does. A file that cannot be parsed counts as another database's. */
async function readOwner(dir: string): Promise<Owner | undefined> {
  const folder = await openFolder(dir).catch(orMissing)
  const bytes = folder && (await closeAfter(folder, (opened) => opened.read(OWNER_FILE).catch(orMissing)))
  const unknown = { identity: 'unknown', line: 'unknown' }
  return bytes && { ...unknown, ...(parseIfJson(String(bytes)) as Partial<Owner> | undefined) }
}

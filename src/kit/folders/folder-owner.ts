import { join } from 'node:path'
import { ConfigError, errorCode, isDiskFull } from '../errors.ts'
import { orMissing } from '../files.ts'
import { parseIfJson } from '../json.ts'
import { closeAfter } from '../release-stack.ts'
import { quoteShell } from '../text.ts'
import { openFolder } from './folder.ts'

/** Identifies a database, and the line since its last restore. */
export type DatabaseIdentity = Readonly<{
  /** a UUID that was made with the tables, and that a restore keeps */
  identity: string
  /** a UUID, a new one after each restore */
  line: string
  /** the lines that it had before its restores */
  earlierLines: readonly string[]
}>

/** The hidden file of a folder that says which database uses it. */
export const OWNER_FILE = '.musette-database.json'

const NOT_WRITABLE: readonly string[] = ['EROFS', 'EACCES', 'EPERM']

/** The database that uses a folder, as the folder says. */
type Owner = Pick<DatabaseIdentity, 'identity' | 'line'>

/** Why a database leaves a folder alone, as a phrase, and the command that gives it the folder. */
export type ForeignFolder = { found: string; run: string }

/**
 * Makes this database the user of a folder, by a file in it, and returns undefined; or returns why it may not, and writes
 * nothing. A folder without the file is claimed, and one that this database used before it was restored. A folder that cannot be
 * written is not claimed, and may be used. Throws Node's errors of the disk.
 */
export async function claimFolder(dir: string, database: DatabaseIdentity) {
  const { identity, line } = database
  const owner = await readOwner(dir)
  const foreign = describeForeign(dir, owner, database)
  if (foreign || owner?.line === line) return foreign
  const about = 'the database of musette that uses this folder; others leave the folder alone'
  const content = `${JSON.stringify({ about, identity, line }, undefined, 2)}\n`
  try {
    const how = { mode: 0o644, replace: owner !== undefined }
    await closeAfter(await openFolder(dir), (folder) => folder.write(OWNER_FILE, content, how))
  } catch (error) {
    const code = errorCode(error)
    if (isDiskFull(error) || NOT_WRITABLE.includes(code)) return undefined
    if (code !== 'EEXIST') throw error
  }
  // Another database may have claimed it at this moment.
  return describeForeign(dir, await readOwner(dir), database)
}

/** Reads why this database leaves a folder alone; undefined where it need not. Changes nothing. Throws Node's errors of the disk. */
export async function readForeign(dir: string, database: DatabaseIdentity) {
  return describeForeign(dir, await readOwner(dir), database)
}

/** Claims a folder as claimFolder does. Throws ConfigError `folder_of_another` for one that another database uses. */
export async function claimFolderOrThrow(dir: string, database: DatabaseIdentity): Promise<void> {
  const foreign = await claimFolder(dir, database)
  if (foreign) throw folderOfAnother(foreign)
}

/** Makes the error for a folder that another database uses. */
export function folderOfAnother({ found, run }: ForeignFolder): ConfigError {
  return new ConfigError('folder_of_another', `${found}; nothing is written; run: ${run}`)
}

/** Says why a database leaves a folder alone that has this owner; undefined when it need not. Pure. */
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
      ? 'another database of the same identity (one is a copy of the other, or was restored from its backup)'
      : `another database of musette (identity ${owner.identity})`
  const found = `${dir} is used by ${whose}, so this one leaves it alone; name another folder, or when that database no longer runs, give the folder to this one`
  return { found, run }
}

/** Reads which database uses a folder; undefined when none does. A file that cannot be understood is one of another database. */
async function readOwner(dir: string): Promise<Owner | undefined> {
  const folder = await openFolder(dir).catch(orMissing)
  const bytes = folder && (await closeAfter(folder, (opened) => opened.read(OWNER_FILE).catch(orMissing)))
  const unknown = { identity: 'unknown', line: 'unknown' }
  return bytes && { ...unknown, ...(parseIfJson(String(bytes)) as Partial<Owner> | undefined) }
}

import type { Stats } from 'node:fs'
import { orMissing } from '../files.ts'
import { type Folder, isSame, makeScratchName, orExists, orNoLinks } from './folder.ts'

/** What a folder's file system can do. */
export type Disk = Readonly<{
  /** hard links work, and inode and link count show them; on FUSE, hard links often fail or stay invisible */
  hasLinks: boolean
  /** creating a file fails if its name exists */
  isExclusive: boolean
  ignoresCase: boolean
}>

/** Probes what a folder's file system can do, with hidden files that are removed again. Throws Node's errors if it cannot create files. */
export async function probeDisk(folder: Folder): Promise<Disk> {
  const [name, second, third] = [makeScratchName(), makeScratchName(), makeScratchName()]
  const make = (one: string) => folder.create(one, 0o600).then((file) => file.close())
  try {
    await make(name)
    await make(third)
    const isExclusive = !(await make(name).then(() => true, orExists))
    const isLinked = await folder.link(name, folder, second).then(() => true, orNoLinks)
    const [one, foreign] = [await folder.lstat(name), await folder.lstat(third)]
    const other = await folder.lstat(second).catch(orMissing)
    const hasLinks = isLinked && isSecondName(one, other) && !isSame(one, foreign)
    const ignoresCase = (await folder.lstat(name.toUpperCase()).catch(orMissing)) !== undefined
    return { hasLinks, isExclusive, ignoresCase }
  } finally {
    for (const each of [name, second, third]) await folder.unlink(each).catch(() => undefined)
  }
}

/** Reports whether two stats show one file with several names, as far as inode and link count can show it. */
export function isSecondName(one: Stats | undefined, other: Stats | undefined): boolean {
  return one !== undefined && other !== undefined && isSame(one, other) && one.nlink > 1 && other.nlink > 1
}

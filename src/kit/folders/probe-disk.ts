import type { Stats } from 'node:fs'
import { orMissing } from '../files.ts'
import { type Folder, isSame, makeScratchName, orExists, orNoLinks } from './folder.ts'

/** What the file system of a folder can do. */
export type Disk = Readonly<{
  /** a hard link is a second name of one file, and its inode and link count say so: those of FUSE often do not */
  hasLinks: boolean
  /** making a file fails where one of that name exists */
  isExclusive: boolean
  ignoresCase: boolean
}>

/** Tries what the file system of a folder can do, with hidden files that are removed again. Throws Node's errors where none can be made. */
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

/** Tells whether two names are of one file, as far as its inode and its count of links say so. */
export function isSecondName(one: Stats | undefined, other: Stats | undefined): boolean {
  return one !== undefined && other !== undefined && isSame(one, other) && one.nlink > 1 && other.nlink > 1
}

import type { FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { orMissing } from '../../kit/files.ts'
import { type Folder, openFolder, UNFINISHED } from '../../kit/folders/folder.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { onDisk } from './archive/backup-errors.ts'
import type { Manifest } from './archive/manifest.ts'
import { openArchive } from './archive/read-archive.ts'
import { COMPLETE } from './backup-name.ts'

/** The incomplete file of a killed scheduled backup: the name of a complete one with an ending. */
const NAME_BEFORE_END = /\.[0-9a-f-]+\.part$/

/** Only the owner enters a new folder of backups. */
export const BACKUP_MODE = 0o700

/** A folder of scheduled backups, and the line of their database; files of other lines stay. */
export type Schedule = Readonly<{ dir: string; line: string }>

type ScheduledFile = { name: string; madeAt: Date }

/** Returns the name of a scheduled backup, with the beginning of its line: `musette-20240131T060000Z-0b5e7a3c.tar`. */
export function scheduledName(madeAt: Date, line: string): string {
  return `musette-${madeAt.toISOString().replace(/[-:]|\.\d+/g, '')}-${markOf(line)}.tar`
}

const markOf = (line: string) => line.slice(0, 8)

function isOwn(name: string, line: string): boolean {
  return COMPLETE.exec(name)?.[7] === markOf(line)
}

/**
 * Reads the complete scheduled backups of a line in a folder, the newest first, by the times in their names; creates the folder
 * if it does not exist. Throws ConfigError `backup_file`, TransientError `backup_disk_full`.
 */
export async function readScheduled({ dir, line }: Schedule): Promise<ScheduledFile[]> {
  const names = await onDisk('write', dir, async () =>
    closeAfter(await openFolder(dir, { mode: BACKUP_MODE }), listFiles),
  )
  const own = names.filter((name) => isOwn(name, line))
  const files = own.map((name) => ({ name, madeAt: new Date(name.replace(COMPLETE, '$1-$2-$3T$4:$5:$6Z')) }))
  return files.sort((a, b) => b.madeAt.getTime() - a.madeAt.getTime())
}

/**
 * Reads the paths of scheduled backups in a folder that are not of a line: of other databases, of this one before a restore,
 * and those whose names do not say a line. Throws ConfigError `backup_file`.
 */
export async function readBackupsOfOthers({ dir, line }: Schedule): Promise<string[]> {
  const names = await readNames(dir)
  return names.filter((name) => COMPLETE.test(name) && !isOwn(name, line)).map((name) => join(dir, name))
}

/**
 * Removes all but the newest `keep` complete scheduled backups; the newest is that of `madeAt`, which was just written. Those with
 * a later time in their names stay and do not count: a clock that was ahead named them. Returns the names of both. Throws as readScheduled
 * does.
 */
export async function removeOldBackups(schedule: Schedule, { keep, madeAt }: { keep: number; madeAt: Date }) {
  const { dir } = schedule
  const files = await readScheduled(schedule)
  const isAhead = (file: ScheduledFile) => file.madeAt > madeAt
  const old = files.filter((file) => !isAhead(file)).slice(keep)
  const removed = old.map(({ name }) => name)
  await removeFiles(dir, removed)
  return { removed, ahead: files.filter(isAhead).map(({ name }) => name) }
}

/** Removes files of a folder; one that cannot be removed keeps none of the others, and its error is thrown at the end. */
export async function removeFiles(dir: string, names: readonly string[]): Promise<void> {
  await onDisk('write', dir, () =>
    inFolder(dir, async (folder) => {
      const ends = await Promise.allSettled(names.map((name) => folder.unlink(name).catch(orMissing)))
      for (const end of ends) if (end.status === 'rejected') throw end.reason
    }),
  )
}

/** Does work in a folder; undefined when there is none. */
async function inFolder<T>(dir: string, work: (folder: Folder) => Promise<T>): Promise<T | undefined> {
  const folder = await openFolder(dir).catch(orMissing)
  return folder && closeAfter(folder, work)
}

async function readNames(dir: string): Promise<string[]> {
  return (await onDisk('read', dir, () => inFolder(dir, listFiles))) ?? []
}

/** Lists the names of the plain files; a link is none of ours. */
async function listFiles(folder: Folder): Promise<string[]> {
  return (await folder.list()).filter((entry) => entry.isFile()).map(({ name }) => String(name))
}

/** A complete scheduled backup as its folder has it; `doneAt` is when it was last written. */
export type FoundBackup = Readonly<{ path: string; doneAt: Date; bytes: number }>

/**
 * Reads the scheduled backup of a line that was written last, as it lies in the folder now; undefined when there is none. Throws
 * ConfigError `backup_file`.
 */
export async function readNewestBackup({ dir, line }: Schedule): Promise<FoundBackup | undefined> {
  return onDisk('read', dir, async () => {
    const found: FoundBackup[] = []
    await inFolder(dir, async (folder) => {
      for (const name of (await listFiles(folder)).filter((each) => isOwn(each, line))) {
        // One may be removed meanwhile, and one that the disk does not give must not hide the others.
        const stats = await folder.lstat(name).catch(() => undefined)
        if (stats) found.push({ path: join(dir, name), doneAt: stats.mtime, bytes: stats.size })
      }
    })
    return found.sort((a, b) => b.doneAt.getTime() - a.doneAt.getTime())[0]
  })
}

/** Opens a backup, which is a plain file; no link is followed. Throws Node's errors. */
export async function openBackup(path: string): Promise<FileHandle> {
  return closeAfter(await openFolder(dirname(path)), (folder) => folder.open(basename(path)))
}

/** Reads the manifest of a backup. Throws as openArchive does, and ConfigError `backup_file`. */
export async function readBackupManifest({ path }: { path: string }): Promise<Manifest> {
  return onDisk('read', path, async () => {
    const file = (await openBackup(path)).createReadStream()
    try {
      return (await openArchive(file)).manifest
    } finally {
      file.destroy()
    }
  })
}

/**
 * Removes what scheduled backups of a line left whose process was killed, and returns the names; no other one of it may run. Throws as
 * readScheduled does.
 */
export async function removeUnfinished({ dir, line }: Schedule): Promise<string[]> {
  const left = (await readNames(dir)).filter(
    (name) => UNFINISHED.test(name) && isOwn(name.replace(NAME_BEFORE_END, ''), line),
  )
  await removeFiles(dir, left)
  return left
}

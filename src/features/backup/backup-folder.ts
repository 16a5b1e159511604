import type { FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { orMissing } from '../../kit/files.ts'
import { type Folder, openFolder, UNFINISHED } from '../../kit/folders/folder.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { onDisk } from './archive/backup-errors.ts'
import type { Manifest } from './archive/manifest.ts'
import { openArchive } from './archive/read-archive.ts'
import { COMPLETE } from './backup-name.ts'

/**
 * Matches the end of an unfinished backup's name. A killed scheduled backup leaves such a file: the complete backup's name with this
 * suffix.
 */
const NAME_BEFORE_END = /\.[0-9a-f-]+\.part$/

/** Mode of a new backup folder, which only the owner may enter. */
export const BACKUP_MODE = 0o700

/** A folder of scheduled backups, and the line of their database. Files of other lines are not touched. */
export type Schedule = Readonly<{ dir: string; line: string }>

type ScheduledFile = { name: string; madeAt: Date }

/** Returns the name of a scheduled backup, with the first characters of its line: `musette-20240131T060000Z-0b5e7a3c.tar`. */
export function scheduledName(madeAt: Date, line: string): string {
  return `musette-${madeAt.toISOString().replace(/[-:]|\.\d+/g, '')}-${markOf(line)}.tar`
}

const markOf = (line: string) => line.slice(0, 8)

function isOwn(name: string, line: string): boolean {
  return COMPLETE.exec(name)?.[7] === markOf(line)
}

/**
 * Returns a line's complete scheduled backups in a folder, newest first by the times in their names. Creates the folder if it does not
 * exist. Throws ConfigError `backup_file`, TransientError `backup_disk_full`.
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
 * Returns the paths of scheduled backups that do not belong to the line: backups of other databases, backups of this database from before a
 * restore, and backups whose names contain no line. Throws ConfigError `backup_file`.
 */
export async function readBackupsOfOthers({ dir, line }: Schedule): Promise<string[]> {
  const names = await readNames(dir)
  return names.filter((name) => COMPLETE.test(name) && !isOwn(name, line)).map((name) => join(dir, name))
}

/**
 * Removes all complete scheduled backups except the newest `keep`; the newest was just written at the time `madeAt`. Backups with a later
 * time in their names stay and do not count, because the clock was ahead when they were named. Returns the names of the removed and of the
 * later backups. Throws as readScheduled does.
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

/** Removes files from a folder. If a file cannot be removed, removes the others and then throws that file's error. */
export async function removeFiles(dir: string, names: readonly string[]): Promise<void> {
  await onDisk('write', dir, () =>
    inFolder(dir, async (folder) => {
      const ends = await Promise.allSettled(names.map((name) => folder.unlink(name).catch(orMissing)))
      for (const end of ends) if (end.status === 'rejected') throw end.reason
    }),
  )
}

/** Runs work in a folder; returns undefined if the folder does not exist. */
async function inFolder<T>(dir: string, work: (folder: Folder) => Promise<T>): Promise<T | undefined> {
  const folder = await openFolder(dir).catch(orMissing)
  return folder && closeAfter(folder, work)
}

async function readNames(dir: string): Promise<string[]> {
  return (await onDisk('read', dir, () => inFolder(dir, listFiles))) ?? []
}

/** Lists the names of the plain files; links are left out, because musette makes none. */
async function listFiles(folder: Folder): Promise<string[]> {
  return (await folder.list()).filter((entry) => entry.isFile()).map(({ name }) => String(name))
}

/** A complete scheduled backup in its folder; `doneAt` is the time of its last write. */
export type FoundBackup = Readonly<{ path: string; doneAt: Date; bytes: number }>

/**
 * Finds the scheduled backup of a line that was written last; returns undefined if the folder has none. Throws ConfigError `backup_file`.
 */
export async function readNewestBackup({ dir, line }: Schedule): Promise<FoundBackup | undefined> {
  return onDisk('read', dir, async () => {
    const found: FoundBackup[] = []
    await inFolder(dir, async (folder) => {
      for (const name of (await listFiles(folder)).filter((each) => isOwn(each, line))) {
        // Skip a file that cannot be read, for example because it has just been removed: it must not hide the others.
        const stats = await folder.lstat(name).catch(() => undefined)
        if (stats) found.push({ path: join(dir, name), doneAt: stats.mtime, bytes: stats.size })
      }
    })
    return found.sort((a, b) => b.doneAt.getTime() - a.doneAt.getTime())[0]
  })
}

/** Opens a backup, which must be a plain file; follows no link. Throws Node's errors. */
export async function openBackup(path: string): Promise<FileHandle> {
  return closeAfter(await openFolder(dirname(path)), (folder) => folder.open(basename(path)))
}

/** Reads the manifest of a backup. Throws openArchive's errors, and ConfigError `backup_file`. */
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
 * Removes the unfinished files that killed scheduled backups of a line left, and returns their names. No other backup of the line may run.
 * Throws as readScheduled does.
 */
export async function removeUnfinished({ dir, line }: Schedule): Promise<string[]> {
  const left = (await readNames(dir)).filter(
    (name) => UNFINISHED.test(name) && isOwn(name.replace(NAME_BEFORE_END, ''), line),
  )
  await removeFiles(dir, left)
  return left
}

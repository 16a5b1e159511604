import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openPlainFile, orNone, UNFINISHED } from '../kit/files.ts'
import { DAY } from '../kit/time.ts'
import { mapFileError } from './backup-errors.ts'
import type { Manifest } from './manifest.ts'
import { openArchive } from './read-archive.ts'

/** A complete backup that the schedule made: others in the folder, under other names, are never touched. */
const COMPLETE = /^musette-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.tar$/
/** A scheduled backup whose process was killed; the name without its end is one of a complete backup. */
const NAME_BEFORE_END = /\.[0-9a-f-]+\.part$/

/** How often the newest scheduled backup is restored and compared, ms; after a failure the next one is a day later. */
export const VERIFY_EVERY_MS = 7 * DAY

type ScheduledFile = { name: string; madeAt: Date }

/** Returns the name of a scheduled backup: `musette-20240131T060000Z.tar`. */
export function scheduledName(madeAt: Date): string {
  return `musette-${madeAt.toISOString().replace(/[-:]|\.\d+/g, '')}.tar`
}

/**
 * Reads the complete scheduled backups of a folder, the newest first, by the times in their names; creates the folder if it does
 * not exist. Throws ConfigError `backup_file`, TransientError `backup_disk_full`.
 */
export async function readScheduled(dir: string): Promise<ScheduledFile[]> {
  const names = await onDisk(dir, async () => {
    await mkdir(dir, { recursive: true, mode: 0o700 })
    return readdir(dir)
  })
  const files = names.flatMap((name) => {
    const [, year, month, day, hour, minute, second] = COMPLETE.exec(name) ?? []
    return year ? [{ name, madeAt: new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) }] : []
  })
  return files.sort((a, b) => b.madeAt.getTime() - a.madeAt.getTime())
}

/**
 * Removes all but the newest `keep` complete scheduled backups; the newest is that of `madeAt`, which was just written. Those with
 * a later time in their names stay and do not count: a clock that was ahead named them. Returns their names. Throws as readScheduled
 * does.
 */
export async function removeOldBackups(
  dir: string,
  { keep, madeAt }: { keep: number; madeAt: Date },
): Promise<string[]> {
  const files = await readScheduled(dir)
  const isAhead = (file: ScheduledFile) => file.madeAt > madeAt
  for (const { name } of files.filter((file) => !isAhead(file)).slice(keep)) {
    await onDisk(dir, () => rm(join(dir, name), { force: true }))
  }
  return files.filter(isAhead).map(({ name }) => name)
}

/** A complete scheduled backup as its folder has it; `doneAt` is when it was last written. */
export type FoundBackup = Readonly<{ path: string; doneAt: Date; bytes: number }>

/**
 * Reads the scheduled backup that was written last, as it lies in the folder now; undefined when there is none. Throws ConfigError
 * `backup_file`.
 */
export async function readNewestBackup(dir: string): Promise<FoundBackup | undefined> {
  return onDisk(dir, async () => {
    const names = await readdir(dir).catch(orNone)
    const found: FoundBackup[] = []
    for (const name of names.filter((each) => COMPLETE.test(each))) {
      const path = join(dir, name)
      const { size: bytes, mtime: doneAt } = await stat(path)
      found.push({ path, doneAt, bytes })
    }
    return found.sort((a, b) => b.doneAt.getTime() - a.doneAt.getTime())[0]
  })
}

/** Reads the manifest of a backup. Throws as openArchive does, and ConfigError `backup_file`. */
export async function readBackupManifest({ path }: { path: string }): Promise<Manifest> {
  return onDisk(path, async () => {
    const file = (await openPlainFile(path)).createReadStream()
    try {
      return (await openArchive(file)).manifest
    } finally {
      file.destroy()
    }
  })
}

/** Removes what scheduled backups left whose process was killed; no other one may run. Throws as readScheduled does. */
export async function removeUnfinished(dir: string): Promise<void> {
  const names = await onDisk(dir, () => readdir(dir))
  const left = names.filter(
    (name) => UNFINISHED.test(name) && COMPLETE.test(name.replace(NAME_BEFORE_END, '')),
  )
  for (const name of left) await onDisk(dir, () => rm(join(dir, name), { force: true }))
}

async function onDisk<T>(dir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw mapFileError(error, 'write', dir)
  }
}

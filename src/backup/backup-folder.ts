import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { UNFINISHED } from '../kit/durable-file.ts'
import { mapFileError } from './backup-errors.ts'

/** A complete backup that the schedule made: others in the folder, under other names, are never touched. */
const COMPLETE = /^musette-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.tar$/
/** A scheduled backup whose process was killed; the name without its end is one of a complete backup. */
const NAME_BEFORE_END = /\.[0-9a-f-]+\.part$/

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

/** Removes all but the newest `keep` complete scheduled backups. Throws as readScheduled does. */
export async function removeOldBackups(dir: string, keep: number): Promise<void> {
  for (const { name } of (await readScheduled(dir)).slice(keep)) {
    await onDisk(dir, () => rm(join(dir, name), { force: true }))
  }
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

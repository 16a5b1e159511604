import { statfs } from 'node:fs/promises'
import { TransientError } from '../../kit/errors.ts'

/** The server writes its log in files of 16 MB, makes the next one ahead, and does not start without. */
const NEEDED_BYTES = 32 * 1024 * 1024

/**
 * Makes the error for a server that does not become ready because the disk of `dataDir` is full; undefined when there
 * is room, or nobody can tell.
 */
export async function findDiskFull(dataDir: string): Promise<TransientError | undefined> {
  const disk = await statfs(dataDir).catch(() => undefined)
  if (!disk || disk.bavail * disk.bsize >= NEEDED_BYTES) return undefined
  const left = Math.floor((disk.bavail * disk.bsize) / (1024 * 1024))
  return new TransientError(
    'embedded_disk_full',
    `the embedded Postgres does not start: the disk of ${dataDir} is full (${left} MB left); make room on it, then run it again`,
  )
}

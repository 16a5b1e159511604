import { join } from 'node:path'
import { ConfigError, errorLine, TransientError } from '../kit/errors.ts'
import { readRoom } from '../kit/files.ts'
import { quoteShell } from '../kit/text.ts'
import { asTooManyFiles } from './run-as.ts'

/** How a Postgres program ended, and the last part of its output. */
export type Ended = { how: string; output: string }

const NO_ROOM = /No space left on device|Disk quota exceeded/
const PERMISSIONS = /data directory "(.*)" has invalid permissions/
/** Errors that only another copy of the files can solve. For some of these errors Postgres suggests initdb, which would leave an empty database. */
const DAMAGED =
  /pg_control|could not find the database system|(?:WAL )?directory "pg_wal|valid checkpoint record|is not a valid data directory|incompatible with server|(?:file|directory) "(?:global|base)\b.*(?:No such file|read \d)/

/** Makes the error for a Postgres program that failed on the files of a data directory; `what` is what failed. */
export async function explainEnd(
  { dataDir, what }: { dataDir: string; what: string },
  { how, output }: Ended,
): Promise<Error> {
  const full = await readDiskFull(dataDir, output)
  const tooMany = asTooManyFiles(output)
  if (full || tooMany) return full ?? tooMany ?? new Error(what)
  const cause = causeIn(output) ?? how
  const [, open] = PERMISSIONS.exec(output) ?? []
  if (open !== undefined) {
    const message = `${what}: others may use ${open}; run: chmod 700 ${quoteShell(open)}`
    return new ConfigError('embedded_permissions', message)
  }
  if (DAMAGED.test(cause)) return damaged(join(dataDir, 'postgres'), cause)
  return new TransientError('embedded_start_failed', `${what} (${how}): ${cause}`)
}

/** Makes the error for files that are not a complete database. The program adds the command that restores a backup. */
export function damaged(cluster: string, cause: string): ConfigError {
  return new ConfigError('embedded_damaged', `the database in ${cluster} is damaged: ${cause}`)
}

const PREFIX = /^(?:\S+ \S+ \S+ \[\d+\] )?(?:postgres: |but )?(?:(?:LOG|WARNING|(PANIC|FATAL|ERROR)):\s+)?/

/** Finds the line of a server's output that says why it ended: the first fatal line, or else the last line. Returns undefined if there is no output. */
export function causeIn(output: string): string | undefined {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const fatal = lines.find((line) => PREFIX.exec(line)?.[1] && !line.includes('the database system is'))
  const line = (fatal ?? lines.at(-1))?.replace(PREFIX, '')
  return line === undefined ? undefined : errorLine(line.trim(), 300)
}

/** Disk space that the server needs to start, bytes: the server writes its WAL in files of 16 MB and creates the next file in advance. */
const NEEDED_BYTES = 32 * 1024 * 1024

/**
 * Returns the error for a server without space on the disk of `dataDir`: its output or the disk says so, or less is left than the server
 * needs. Returns undefined if the disk has space or does not report it.
 */
export async function readDiskFull(dataDir: string, output = ''): Promise<TransientError | undefined> {
  const room = await readRoom(dataDir).catch(() => undefined)
  const [said] = NO_ROOM.exec(output) ?? []
  const isFull = said !== undefined || room?.bytes === 0 || room?.files === 0
  if (!isFull && (!room || room.bytes >= NEEDED_BYTES)) return undefined
  const left = Math.floor((room?.bytes ?? 0) / (1024 * 1024))
  const found = isFull
    ? `${said?.toLowerCase() ?? 'no space left on device'}: ${dataDir}`
    : `the disk of ${dataDir} has ${left} MB left, and Postgres needs 32 MB to start`
  return new TransientError(
    'embedded_disk_full',
    `the embedded Postgres does not start: ${found}; make room on that disk; run: df -h ${quoteShell(dataDir)}`,
  )
}

import {
  ConfigError,
  errorCode,
  errorLine,
  isDiskFull,
  MusetteError,
  TransientError,
} from '../../../kit/errors.ts'

/** Makes the error for a changed archive; `where` names the place of the damage. */
export function damaged(where: string, cause?: unknown): MusetteError {
  const message = `the backup is damaged (${where}); nothing is restored; use another backup`
  return new MusetteError('backup_damaged', message, { cause })
}

export function newerBackup(version: string): ConfigError {
  const message = `the backup was made by musette ${version}, a newer version than this one; install that version or a later one`
  return new ConfigError('backup_newer', message)
}

type Action = 'read' | 'write'

/** Runs work on a file or folder. Maps a file system error to an error with the path and the remedy; rethrows any other error. */
export async function onDisk<T>(action: Action, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw mapFileError(error, action, path)
  }
}

/** Maps a file system error to an error with the path and the remedy; returns any other error unchanged. */
export function mapFileError(error: unknown, action: Action, path: string): unknown {
  if (error instanceof MusetteError || !(error instanceof Error && 'syscall' in error)) return error
  if (isDiskFull(error)) {
    const message = `${path} cannot be written: the disk is full (${errorCode(error)}); no part of this backup is kept; make room, or name a file on another disk`
    return new TransientError('backup_disk_full', message, { cause: error })
  }
  const message = `${path} cannot be ${action === 'read' ? 'read' : 'written'} (${errorLine(error)}); name another file, or check its owner and mode`
  return new ConfigError('backup_file', message, { cause: error })
}

import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { Logger } from 'pino'
import { errorCode, errorLine, TransientError } from '../../kit/errors.ts'
import { type Folder, openBelow } from '../../kit/folders/folder.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { quoteName } from '../../kit/text.ts'
import type { Clock } from '../../kit/time.ts'
import type { Problems } from './folder-report.ts'
import { moveDone, moveFailed } from './move-file.ts'
import type { MoveFile } from './move-to-folder.ts'
import type { MovedFiles } from './moved-files.ts'
import type { ReadWriter } from './open-writers.ts'
import type { FinalResult, SeenFiles } from './seen-files.ts'
import { type Found, identityOf, isUnchanged } from './walk-folder.ts'

/** A file at rest in the drop folder. The file's paths are for people and logs, so bytes that are not UTF-8 are replaced. */
export type DroppedFile = {
  account: string
  relativePath: string
  name: string
  sizeBytes: number
  /** when the file last changed; it may be years ago */
  changedAt: Date
  /** when the file last changed or moved */
  restingSince: Date
}

/** What to do with a file after its import. `wait`: import the file again when it changes, or after a growing pause; a lasting `reason` is reported. */
export type ImportResult =
  | { action: 'done' }
  | { action: 'failed'; text: string }
  | { action: 'keep' }
  | { action: 'wait'; reason?: string | undefined; code?: string | undefined }

export type ImportFile = (
  file: DroppedFile,
  open: () => Promise<OpenFile>,
  signal: AbortSignal,
) => Promise<ImportResult>

type ClaimDeps = {
  log: Logger
  now: Clock
  importFile: ImportFile
  readWriter: ReadWriter
  move: MoveFile
  moved: MovedFiles
  seen: SeenFiles
  problems: Problems
}

type ClaimOptions = {
  afterUpload: 'move' | 'keep'
  signal: AbortSignal
  scanSoon: () => void
}

/** Passes one file to `importFile` and acts on the result. Never throws: a failed import is retried. */
export async function claimFile(deps: ClaimDeps, options: ClaimOptions, found: Found): Promise<void> {
  const { log, seen } = deps
  const { signal } = options
  if (signal.aborted) return seen.recordGone(found)
  const opened: OpenFile[] = []
  const open = async () => {
    const file = await openFound(found)
    opened.push(file)
    return file
  }
  try {
    const { dev, ino } = await inFolder(found, (folder) => folder.lstat(found.rawName))
    const writer = await deps.readWriter({ name: found.rawName, dev, ino })
    if (writer !== undefined) {
      const reason = `${writer} has it open for writing; musette sends it when that program has closed it`
      return seen.recordWaiting(found, deps.now().getTime(), { code: 'open_file', reason })
    }
    const { account, relativePath, name } = found
    const [restingSince, changedAt] = [new Date(seen.restingSince(found)), new Date(seen.changedAt(found))]
    const dropped = { account, relativePath, name, sizeBytes: found.identity.size, changedAt, restingSince }
    const after = await deps
      .importFile(dropped, open, signal)
      .finally(() => Promise.all(opened.map((file) => file.close())))
    const nowMs = deps.now().getTime()
    if (after.action === 'wait') {
      const { code = 'not_whole', reason } = after
      seen.recordWaiting(found, nowMs, reason === undefined ? undefined : { code, reason })
    } else if (after.action === 'keep' || options.afterUpload === 'keep') {
      seen.recordLeft(found)
    } else {
      await finishFile(deps, options, found, after)
    }
  } catch (error) {
    if (signal.aborted) return seen.recordGone(found)
    const code = errorCode(error)
    if (code === 'ENOENT' || code === 'file_changed') {
      log.debug({ file: found.relativePath, code }, 'file was removed or changed while it was read')
      seen.recordGone(found)
      options.scanSoon()
      return
    }
    log.debug({ file: found.relativePath, code, reason: errorLine(error) }, 'file cannot be imported')
    const reason = `cannot be imported now (${errorLine(error)}); musette retries`
    seen.recordWaiting(found, deps.now().getTime(), { code: 'unreadable_file', reason })
  }
}

/** Moves an imported file to `done/` or `failed/`. A failed move is reported once and retried at every scan, without another import. */
export async function finishFile(
  deps: Omit<ClaimDeps, 'importFile' | 'readWriter'>,
  options: Pick<ClaimOptions, 'scanSoon'>,
  found: Found,
  result: FinalResult,
): Promise<void> {
  const { log, seen, problems } = deps
  const file = found.relativePath
  try {
    const how = { move: deps.move, at: deps.now() }
    const moved =
      result.action === 'done' ? await moveDone(how, found) : await moveFailed(how, found, result.text)
    seen.recordGone(found)
    if (moved.outcome === 'changed') options.scanSoon()
    const to = moved.outcome === 'moved' ? moved.to.path : undefined
    log.debug({ file, to, outcome: moved.outcome }, 'file moved')
    if (moved.outcome !== 'moved') return
    deps.moved.add(found, moved.to, moved.inode)
    if (moved.textError === undefined) return problems.end('text')
    const sentence = `drop folder: cannot write the reasons beside files in failed/ (${errorLine(moved.textError)}); they are in training.uploads`
    problems.begin('text', sentence, moved.textError)
  } catch (error) {
    // Each retry would leave another empty file behind, so a person has to act.
    if (errorCode(error) === 'move_unfinished') {
      const reason = `it was imported, but cannot be moved: ${errorLine(error)}; remove both files when the folder works again`
      return seen.recordLeft(found, { code: 'move_unfinished', reason })
    }
    seen.recordUnmoved(found, result)
    const sentence =
      errorCode(error) === 'not_a_folder'
        ? `drop folder: imported files cannot be moved: ${errorLine(error)}`
        : `drop folder: imported files cannot be moved (${errorLine(error)}); make the folder writable, or set MUSETTE_AFTER_UPLOAD=keep`
    problems.begin('read_only', sentence, error)
  }
}

/** An open file. `open` streams the whole file, or from `start` to before `end`; it may be called several times. */
export type OpenFile = {
  sizeBytes: number
  open(range?: { start: number; end: number }): Readable
  /** Throws TransientError `file_changed` if the file was changed or replaced. */
  check(): Promise<void>
  close(): Promise<void>
}

/** Bytes read at a time: large enough for few reads, small enough that checking one piece does not block the event loop. */
const PIECE_BYTES = 256 * 1_024

/**
 * Opens a found file. Throws TransientError `file_changed` if it was changed, replaced or is no longer a plain file, ConfigError
 * `not_a_folder` if a link replaced its folder, and Node's errors (ENOENT if it is gone). Reading throws the same errors.
 */
async function openFound(found: Found): Promise<OpenFile> {
  const file = await inFolder(found, (folder) => folder.open(found.rawName)).catch((error: unknown) => {
    throw errorCode(error) === 'not_a_plain_file' ? changed(found) : error
  })
  const check = async () => {
    if (!isUnchanged(found.identity, identityOf(await file.stat()))) throw changed(found)
  }
  try {
    await check()
  } catch (error) {
    await file.close()
    throw error
  }
  const { size } = found.identity
  return {
    sizeBytes: size,
    open: (range) => Readable.from(readRange(file, found, range), { objectMode: false }),
    check,
    close: () => file.close(),
  }
}

async function* readRange(
  file: FileHandle,
  found: Found,
  range: { start: number; end: number } = { start: 0, end: found.identity.size },
): AsyncGenerator<Buffer> {
  // The offsets in an archive may lie beyond the end of the file.
  const end = Math.min(range.end, found.identity.size)
  for (let place = range.start; place < end; ) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, end - place))
    const { bytesRead } = await file.read(piece, 0, piece.length, place)
    if (bytesRead === 0) throw changed(found)
    place += bytesRead
    yield piece.subarray(0, bytesRead)
  }
}

async function inFolder<T>(found: Found, work: (folder: Folder) => Promise<T>): Promise<T> {
  return closeAfter(await openBelow(found.root, found.folder), work)
}

function changed(found: Found): TransientError {
  return new TransientError(
    'file_changed',
    `drop folder: ${quoteName(found.relativePath)} changed while it was read`,
  )
}

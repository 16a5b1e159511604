import { constants } from 'node:fs'
import { type FileHandle, open, realpath } from 'node:fs/promises'
import { sep } from 'node:path'
import { Readable } from 'node:stream'
import { RejectedError, TransientError } from '../../kit/errors.ts'
import { identityOf, isUnchanged } from './identity.ts'
import type { Found } from './walk.ts'

/** An open file, read piece by piece, whole or from `start` to before `end`, as often as wanted. */
export type OpenFile = {
  sizeBytes: number
  open(range?: { start: number; end: number }): Readable
  /** Throws TransientError `file_changed` when the file is not the one that was found any more. */
  check(): Promise<void>
  close(): Promise<void>
}

/** Neither a link in the file's place nor a pipe that would wait for a writer; 0 where a system has no such flag. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
/** Large enough for few calls, small enough that looking at a piece blocks nobody. */
const PIECE_BYTES = 256 * 1_024

/**
 * Opens a found file. Throws TransientError `file_changed` when it was written to, replaced or is no plain file any more,
 * RejectedError `outside_folder` when its folder has become a link that leads out of the drop folder, and Node's own
 * errors (ENOENT when it is gone); reading throws the same.
 */
export async function openFound(dir: string, found: Found): Promise<OpenFile> {
  const file = await open(found.path, OPEN_FLAGS)
  const check = async () => {
    const stats = await file.stat()
    if (!stats.isFile() || !isUnchanged(found.identity, identityOf(stats))) throw changed(found)
  }
  try {
    await check()
    await checkInside(dir, found)
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
  // What an archive says of its places may lie behind the end of the file.
  const end = Math.min(range.end, found.identity.size)
  for (let place = range.start; place < end; ) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, end - place))
    const { bytesRead } = await file.read(piece, 0, piece.length, place)
    if (bytesRead === 0) throw changed(found)
    place += bytesRead
    yield piece.subarray(0, bytesRead)
  }
}

async function checkInside(dir: string, found: Found): Promise<void> {
  const [root, folder] = await Promise.all([
    realpath(Buffer.from(dir), 'buffer'),
    realpath(found.folder, 'buffer'),
  ])
  const inside = folder.equals(root) || folder.subarray(0, root.length + 1).equals(withSeparator(root))
  if (!inside) {
    throw new RejectedError(
      'outside_folder',
      `drop folder: ${found.relativePath} lies behind a link that leads out`,
    )
  }
}

function withSeparator(path: Buffer): Buffer {
  return path.at(-1) === sep.charCodeAt(0) ? path : Buffer.concat([path, Buffer.from(sep)])
}

function changed(found: Found): TransientError {
  return new TransientError('file_changed', `drop folder: ${found.relativePath} changed while it was read`)
}

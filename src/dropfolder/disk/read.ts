import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { sep } from 'node:path'
import { RejectedError, TransientError } from '../../kit/errors.ts'
import { identityOf, isUnchanged } from './identity.ts'
import type { Found } from './walk.ts'

/** Neither a link in the file's place nor a pipe that would wait for a writer; 0 where a system has no such flag. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/**
 * Reads a found file as it was found. Throws TransientError `file_changed` when it was written to, replaced or is no plain
 * file any more, RejectedError `outside_folder` when its folder has become a link that leads out of the drop folder, and
 * Node's own errors (ENOENT when it is gone).
 */
export async function readFound(dir: string, found: Found): Promise<Buffer> {
  const file = await open(found.path, OPEN_FLAGS)
  try {
    const before = await file.stat()
    if (!before.isFile() || !isUnchanged(found.identity, identityOf(before))) throw changed(found)
    await checkInside(dir, found)
    const bytes = Buffer.alloc(before.size)
    let place = 0
    while (place < bytes.length) {
      const { bytesRead } = await file.read(bytes, place, bytes.length - place, place)
      if (bytesRead === 0) throw changed(found)
      place += bytesRead
    }
    if (!isUnchanged(found.identity, identityOf(await file.stat()))) throw changed(found)
    return bytes
  } finally {
    await file.close()
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

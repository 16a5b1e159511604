const SLASH = Buffer.from('/')

/**
 * Joins a folder and a name as bytes. Names on disk are bytes, and old devices write some that are no UTF-8; as text they
 * could not be opened again.
 */
export function joinPath(folder: Buffer, name: Buffer | string): Buffer {
  const last = typeof name === 'string' ? Buffer.from(name) : name
  return folder.length === 0 ? last : Buffer.concat([folder, SLASH, last])
}

/** Makes a text that differs for different bytes, for use as a key. */
export function keyOf(path: Buffer): string {
  return path.toString('latin1')
}

/** The folder part of a path that joinPath made. */
export function folderOf(path: Buffer): Buffer {
  return path.subarray(0, Math.max(0, path.lastIndexOf(SLASH)))
}

/** The last part of a path that joinPath made. */
export function nameOf(path: Buffer): Buffer {
  return path.subarray(path.lastIndexOf(SLASH) + 1)
}

import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'

/** Maximum number of bytes to which gzip expands one byte. */
const GZIP_RATIO = 1_032
/** Minimum and maximum size of the decode buffer, whatever size the gzip trailer states, bytes. */
const [MIN_AT_ONCE, MAX_AT_ONCE] = [64 * 1024, 64 * 1024 * 1024]

/** Decodes gzip outside the main thread, up to `maxBytes`. Throws Node's error `ERR_BUFFER_TOO_LARGE` if the content is larger, and `Z_…` if the bytes are damaged. */
export async function decodeGzip(gzipped: Buffer, maxBytes: number): Promise<Buffer> {
  return promisify(gunzip)(gzipped, {
    maxOutputLength: maxBytes,
    // Node checks the limit only after each chunk.
    chunkSize: Math.min(sizeToExpect(gzipped), Math.max(maxBytes + 1, MIN_AT_ONCE)),
  })
}

/**
 * Returns slightly more than the decoded size in the gzip trailer (its last four bytes), so that one chunk holds everything. Each further
 * chunk costs a turn of the event loop, and joining chunks costs a copy.
 */
function sizeToExpect(gzipped: Buffer): number {
  const stated = gzipped.length < 4 ? 0 : gzipped.readUInt32LE(gzipped.length - 4)
  return 64 + Math.min(Math.max(stated, MIN_AT_ONCE), gzipped.length * GZIP_RATIO, MAX_AT_ONCE)
}

import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'

/** Bytes that gzip can make of one byte at most. */
const GZIP_RATIO = 1_032
/** Limits of the buffer that gzip is decoded into, whatever size its trailer states. */
const [MIN_AT_ONCE, MAX_AT_ONCE] = [64 * 1024, 64 * 1024 * 1024]

/** Decodes gzip off the main thread, to at most `maxBytes`. Throws Node's `ERR_BUFFER_TOO_LARGE` for more, `Z_…` for damaged bytes. */
export async function decodeGzip(gzipped: Buffer, maxBytes: number): Promise<Buffer> {
  return promisify(gunzip)(gzipped, {
    maxOutputLength: maxBytes,
    // The limit is looked at after each piece.
    chunkSize: Math.min(sizeToExpect(gzipped), Math.max(maxBytes + 1, MIN_AT_ONCE)),
  })
}

/**
 * Returns the decoded size in the trailer of gzip (its last four bytes), and a little more, so that it is decoded in one piece:
 * each further piece costs a turn of the event loop, and joining them a copy.
 */
function sizeToExpect(gzipped: Buffer): number {
  const stated = gzipped.length < 4 ? 0 : gzipped.readUInt32LE(gzipped.length - 4)
  return 64 + Math.min(Math.max(stated, MIN_AT_ONCE), gzipped.length * GZIP_RATIO, MAX_AT_ONCE)
}

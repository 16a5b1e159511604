import { Readable } from 'node:stream'
import type { ByteSource } from '../../src/core/fit/archive.ts'

/** Makes a ByteSource of bytes in memory. */
export function sourceOf(bytes: Uint8Array): ByteSource {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return {
    sizeBytes: buffer.length,
    open: ({ start, end } = { start: 0, end: buffer.length }) =>
      Readable.from([buffer.subarray(start, end)], { objectMode: false }),
  }
}

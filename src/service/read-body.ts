import type { Readable } from 'node:stream'
import { decodeGzip } from '../kit/decode-gzip.ts'
import { tooLarge } from './service-errors.ts'

/** A body, decoded, and as it came when that was gzip. */
type Body = { decoded: Buffer; gzipped: Buffer | undefined }

/** The first buffer for a body of unknown length. */
const FIRST_BYTES = 64 * 1024

/**
 * Reads a body and decodes gzip. Throws `too_large` as soon as its size, decoded or not, passes the limit (bytes); a stream
 * or gzip that ends early throws the library's error. `length` is the Content-Length.
 */
export async function readBody(
  body: Readable,
  input: { encoding: string | undefined; length: number | undefined; maxBytes: number; what: string },
): Promise<Body> {
  const { maxBytes, what } = input
  const came = await collect(body, input)
  if (!isGzip(input.encoding)) return { decoded: came, gzipped: undefined }
  try {
    return { decoded: await decodeGzip(came, maxBytes), gzipped: came }
  } catch (error) {
    const outgrown = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    throw outgrown ? tooLarge(what, maxBytes) : error
  }
}

async function collect(
  body: Readable,
  { length, maxBytes, what }: { length: number | undefined; maxBytes: number; what: string },
): Promise<Buffer> {
  // Chunks are copied to their place at once, so that an answer of several MB is in memory once and not twice.
  let whole = Buffer.allocUnsafeSlow(Math.min(length ?? FIRST_BYTES, maxBytes))
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    if (size + chunk.length > maxBytes) throw tooLarge(what, maxBytes)
    if (size + chunk.length > whole.length) {
      const longer = Buffer.allocUnsafeSlow(Math.max(size + chunk.length, 2 * whole.length))
      whole.copy(longer, 0, 0, size)
      whole = longer
    }
    chunk.copy(whole, size)
    size += chunk.length
  }
  return whole.subarray(0, size)
}

/** Whether a Content-Encoding is one that this client decodes. */
export function isKnownEncoding(encoding: string | undefined): boolean {
  return isGzip(encoding) || /^(identity)?$/i.test(encoding?.trim() ?? '')
}

function isGzip(encoding: string | undefined): boolean {
  return /^(x-)?gzip$/i.test(encoding?.trim() ?? '')
}

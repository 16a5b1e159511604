import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { tooLarge } from '../errors.ts'

/**
 * Reads a body as one buffer, gzip decoded. Throws `too_large` as soon as the decoded size passes the limit (bytes);
 * a stream or gzip that ends early throws the library's error.
 */
export async function readBody(
  body: Readable,
  input: { encoding: string | undefined; maxBytes: number; what: string },
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let refusal: Error | undefined
  const collect = async (source: AsyncIterable<Buffer>): Promise<void> => {
    let size = 0
    for await (const chunk of source) {
      size += chunk.length
      if (size > input.maxBytes) {
        refusal = tooLarge(input.what, input.maxBytes)
        throw refusal
      }
      chunks.push(chunk)
    }
  }
  try {
    if (isGzip(input.encoding)) await pipeline(body, createGunzip(), collect)
    else await pipeline(body, collect)
  } catch (error) {
    // The pipeline may report how its first stream was ended by our refusal instead of the refusal.
    throw refusal ?? error
  }
  const [only] = chunks
  return chunks.length === 1 && only ? only : Buffer.concat(chunks)
}

/** Whether a Content-Encoding is one that this client decodes. */
export function isKnownEncoding(encoding: string | undefined): boolean {
  return isGzip(encoding) || /^(identity)?$/i.test(encoding?.trim() ?? '')
}

function isGzip(encoding: string | undefined): boolean {
  return /^(x-)?gzip$/i.test(encoding?.trim() ?? '')
}

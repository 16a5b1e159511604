import { createHash } from 'node:crypto'

/** Computes the content id of a file: the SHA-256 of its bytes, in hex. The name and the folder do not matter. */
export async function contentIdOf(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex')
}

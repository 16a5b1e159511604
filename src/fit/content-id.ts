import { createHash } from 'node:crypto'

/** Computes the content id of a FIT file: the SHA-256 of its bytes, in hex. The name and the folder do not matter. */
export function contentIdOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

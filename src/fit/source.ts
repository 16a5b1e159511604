import { Readable } from 'node:stream'

/** Bytes that can be read more than once, whole or from `start` to before `end`. */
export type ByteSource = { sizeBytes: number; open(range?: { start: number; end: number }): Readable }

/** Makes a source of bytes in memory. */
export function sourceOf(bytes: Uint8Array): ByteSource {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return {
    sizeBytes: buffer.length,
    open: ({ start, end } = { start: 0, end: buffer.length }) =>
      Readable.from([buffer.subarray(start, end)], { objectMode: false }),
  }
}

/** Reads the first bytes of a source, `count` at most. Throws what the source throws. */
export async function readFront(source: ByteSource, count: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  const range = { start: 0, end: Math.min(count, source.sizeBytes) }
  for await (const chunk of source.open(range) as AsyncIterable<Uint8Array>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

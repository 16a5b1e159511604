import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { PART_BYTES } from './manifest.ts'

const compress = promisify(gzip)
const decompress = promisify(gunzip)

/** Maximum number of parts that are compressed at the same time: the size of Node's thread pool. */
const AT_ONCE = 4
/**
 * If level 1 does not shrink a part below this share, the part is stored uncompressed, because compressing raw documents again takes long.
 */
const WORTH = 0.9
const PROBE_BYTES = 64 * 1024
/** Size of zlib's output chunks, bytes; with Node's 16 kB the threads would mostly wait for the event loop. */
const CHUNK_BYTES = 1024 * 1024

/** Cuts a byte stream into compressed parts, each a complete gzip file. Compresses several parts at the same time. */
export function compressParts(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  return mapInOrder(cutInto(chunks, PART_BYTES), async (part) => {
    const probe = await compress(part.subarray(0, PROBE_BYTES), { level: 1 })
    const isWorth = probe.length < WORTH * Math.min(part.length, PROBE_BYTES)
    return await compress(part, { level: isWorth ? 1 : 0, chunkSize: CHUNK_BYTES })
  })
}

/**
 * Decompresses parts, several at the same time. If a part is damaged or larger than PART_BYTES, throws the error that `asDamage` makes of
 * zlib's error.
 */
export function decompressParts(parts: AsyncIterable<Buffer>, asDamage: (error: unknown) => Error) {
  return mapInOrder(parts, async (part) => {
    try {
      return await decompress(part, { maxOutputLength: PART_BYTES, chunkSize: CHUNK_BYTES })
    } catch (error) {
      throw asDamage(error)
    }
  })
}

async function* mapInOrder<T, R>(items: AsyncIterable<T>, work: (item: T) => Promise<R>): AsyncGenerator<R> {
  const running: Promise<R>[] = []
  for await (const item of items) {
    const result = work(item)
    // The result is awaited later, or never if an earlier part failed.
    result.catch(() => undefined)
    running.push(result)
    if (running.length >= AT_ONCE) yield await (running.shift() as Promise<R>)
  }
  for (const result of running) yield await result
}

async function* cutInto(chunks: AsyncIterable<Buffer>, size: number): AsyncGenerator<Buffer> {
  let part = Buffer.allocUnsafe(size)
  let length = 0
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      const copied = chunk.copy(part, length, at)
      at += copied
      length += copied
      if (length < size) continue
      yield part
      part = Buffer.allocUnsafe(size)
      length = 0
    }
  }
  if (length > 0) yield part.subarray(0, length)
}

import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { errorCode } from '../../kit/errors.ts'
import { isFormat, refused, UnpackError, unready } from './archive.ts'

const NOTHING: Uint8Array = new Uint8Array()

/** Passes bytes on unchanged, or unpacks them when they begin as gzip; see gunzip. */
export async function* unpackBytes(chunks: AsyncIterable<Uint8Array>, most: number) {
  const rest = chunks[Symbol.asyncIterator]()
  const { value: front = NOTHING } = await rest.next()
  const all = (async function* () {
    yield front
    yield* { [Symbol.asyncIterator]: () => rest }
  })()
  yield* isFormat('gzip', front) ? gunzip(all, most) : all
}

/**
 * Unpacks gzip bytes as they are read, to at most `most` bytes. Throws UnpackError when they are cut, damaged (a file that is
 * still being copied looks the same) or unpack to more, and the error of `packed` when reading fails.
 */
async function* gunzip(packed: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  // An error reaches the reader of the last stream, so the callback has nothing to do.
  const unpacked = pipeline(packed, createGunzip(), () => undefined)
  let size = 0
  try {
    for await (const chunk of unpacked as AsyncIterable<Uint8Array>) {
      size += chunk.length
      if (size > most) {
        throw new UnpackError(
          refused('too_large', 'it unpacks to more than a FIT file can be; check what it holds'),
        )
      }
      yield chunk
    }
  } catch (error) {
    const code = errorCode(error)
    if (code === 'Z_BUF_ERROR') {
      throw new UnpackError(unready('incomplete', 'the gzip file is cut at its end'))
    }
    if (code.startsWith('Z_')) {
      throw new UnpackError(unready('damaged', 'the gzip file is damaged or not written yet'))
    }
    throw error
  }
}

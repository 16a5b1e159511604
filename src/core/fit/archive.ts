import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { errorCode } from '../../kit/errors.ts'

/** Bytes that can be read more than once, whole or from `start` to before `end`. */
export type ByteSource = { sizeBytes: number; open(range?: { start: number; end: number }): Readable }

/** A FIT file in a dropped file. `open` reads its bytes from the start, and throws UnpackError where they cannot be unpacked. */
export type DroppedFit = { name: string; open: () => AsyncIterable<Uint8Array> }

/** `isPacked`: the files are in an archive or packed with gzip. */
export type Unpacked = { verdict: 'files'; files: ReadonlyArray<DroppedFit>; isPacked: boolean } | Fault

/** The limits of an archive with those in it; beyond them all of it is refused. `fileBytes` and `ratio` are of each file, `entries` of all. */
export type DropLimits = Readonly<{
  entries: number
  fileBytes: number
  totalBytes: number
  ratio: number
}>

const MIB = 1_024 * 1_024

/**
 * A day of riding with every sensor is under 10 MiB of FIT. An export of everything that a service has of twenty years is some
 * thousand rides, ten times as many files of a watch about each day, photos and routes. FIT packs to between a half and a tenth;
 * zeros to a thousandth.
 */
export const DROP_LIMITS: DropLimits = {
  entries: 500_000,
  fileBytes: 64 * MIB,
  totalBytes: 8_192 * MIB,
  ratio: 100,
}

/** Below this size no ratio makes a bomb: a tiny FIT file of repeated values may pack extremely well. */
const RATIO_COUNTS_FROM_BYTES = MIB

/** Returns the most bytes that `packedBytes` may unpack to. */
export function mostUnpacked(packedBytes: number, { fileBytes, ratio }: DropLimits): number {
  return Math.min(fileBytes, Math.max(RATIO_COUNTS_FROM_BYTES, packedBytes * ratio))
}

/** The reason why an archive cannot be unpacked; `unready`: not yet, because it may still be written to. */
export type Fault =
  | { verdict: 'unready'; code: string; reason: string }
  | { verdict: 'refused'; code: string; reason: string }

const MAGIC = { gzip: [0x1f, 0x8b], zip: [0x50, 0x4b] } as const

/** Tells by the first two bytes whether they are a zip archive or gzip; names are not reliable. */
export function isFormat(format: keyof typeof MAGIC, [first, second]: Uint8Array): boolean {
  const magic = MAGIC[format]
  return first === magic[0] && (second === undefined || second === magic[1])
}

/** Makes the fault of an archive that may still become readable. */
export function unready(code: string, reason: string): Fault {
  return { verdict: 'unready', code, reason }
}

/** Makes the fault of an archive that never becomes readable. */
export function refused(code: string, reason: string): Fault {
  return { verdict: 'refused', code, reason }
}

/** Writes why a file is not taken. An incomplete one may become whole, an empty one has nothing yet. */
export function describeFault({ verdict, code, reason }: Pick<Fault, 'verdict' | 'code' | 'reason'>): string {
  return verdict === 'unready' && code !== 'empty' ? `not whole: ${reason}` : reason
}

/** A fault that shows only while bytes are unpacked. */
export class UnpackError extends Error {
  override readonly name = 'UnpackError'
  readonly fault: Fault

  constructor(fault: Fault) {
    super(fault.reason)
    this.fault = fault
  }
}

/** Passes bytes on unchanged, or unpacks them when they begin as gzip; see gunzip. */
export async function* unpackBytes(chunks: AsyncIterable<Uint8Array>, most: number) {
  const rest = chunks[Symbol.asyncIterator]()
  const { value: front = new Uint8Array() } = await rest.next()
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
        const reason = 'it unpacks to more than a FIT file can be; check what it holds'
        throw new UnpackError(refused('too_large', reason))
      }
      yield chunk
    }
  } catch (error) {
    const code = errorCode(error)
    if (code === 'Z_BUF_ERROR')
      throw new UnpackError(unready('incomplete', 'the gzip file is cut at its end'))
    if (code.startsWith('Z_'))
      throw new UnpackError(unready('damaged', 'the gzip file is damaged or not written yet'))
    throw error
  }
}

import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { errorCode } from '../../kit/errors.ts'

/** Bytes that can be read several times, as a whole or from `start` up to, but not including, `end`. */
export type ByteSource = { sizeBytes: number; open(range?: { start: number; end: number }): Readable }

/** A FIT file in a dropped file. `open` reads its bytes from the start. Reading throws UnpackError if they cannot be unpacked. */
export type DroppedFit = { name: string; open: () => AsyncIterable<Uint8Array> }

/** `isPacked`: the files come from an archive or are gzipped. */
export type Unpacked = { verdict: 'files'; files: ReadonlyArray<DroppedFit>; isPacked: boolean } | Fault

/**
 * Limits of an archive and the archives inside it. An archive that exceeds a limit is refused as a whole. `fileBytes` and `ratio` limit
 * each file, `entries` and `totalBytes` all files together.
 */
export type DropLimits = Readonly<{
  entries: number
  fileBytes: number
  totalBytes: number
  ratio: number
}>

const MIB = 1_024 * 1_024

/**
 * A day of riding with every sensor is less than 10 MiB of FIT. A full export of twenty years from a service has thousands of rides, ten
 * times as many daily files of a watch, photos and routes. FIT compresses to between a half and a tenth, zeros to a thousandth.
 */
export const DROP_LIMITS: DropLimits = {
  entries: 500_000,
  fileBytes: 64 * MIB,
  totalBytes: 8_192 * MIB,
  ratio: 100,
}

/** Unpacked sizes below this are allowed whatever the ratio: a tiny FIT file of repeated values may compress extremely well. */
const RATIO_COUNTS_FROM_BYTES = MIB

/** Returns how many bytes a file of `packedBytes` may unpack to. */
export function mostUnpacked(packedBytes: number, { fileBytes, ratio }: DropLimits): number {
  return Math.min(fileBytes, Math.max(RATIO_COUNTS_FROM_BYTES, packedBytes * ratio))
}

/** The reason why a file cannot be unpacked. `unready`: a program may still be writing the file, so it may become readable. */
export type Fault =
  | { verdict: 'unready'; code: string; reason: string }
  | { verdict: 'refused'; code: string; reason: string }

const MAGIC = { gzip: [0x1f, 0x8b], zip: [0x50, 0x4b] } as const

/** Reports by the first two bytes whether bytes are a zip archive or gzip, because file names are not reliable. */
export function isFormat(format: keyof typeof MAGIC, [first, second]: Uint8Array): boolean {
  const magic = MAGIC[format]
  return first === magic[0] && (second === undefined || second === magic[1])
}

/** Makes the fault of a file that may still become readable. */
export function unready(code: string, reason: string): Fault {
  return { verdict: 'unready', code, reason }
}

/** Makes the fault of a file that will never be readable. */
export function refused(code: string, reason: string): Fault {
  return { verdict: 'refused', code, reason }
}

/** Describes why a file is not accepted. An `unready` file that is not empty is described as incomplete. */
export function describeFault({ verdict, code, reason }: Pick<Fault, 'verdict' | 'code' | 'reason'>): string {
  return verdict === 'unready' && code !== 'empty' ? `incomplete: ${reason}` : reason
}

/** A fault that is found only while bytes are being unpacked. */
export class UnpackError extends Error {
  override readonly name = 'UnpackError'
  readonly fault: Fault

  constructor(fault: Fault) {
    super(fault.reason)
    this.fault = fault
  }
}

/** Passes bytes on unchanged, or unpacks them if they start as gzip; see gunzip. */
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
 * Unpacks gzip bytes as they are read. Throws UnpackError if they are truncated, damaged (a file that is still being copied looks the same)
 * or unpack to more than `most` bytes, and the error of `packed` if reading fails.
 */
async function* gunzip(packed: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  // The reader of the last stream gets every error, so the callback does nothing.
  const unpacked = pipeline(packed, createGunzip(), () => undefined)
  let size = 0
  try {
    for await (const chunk of unpacked as AsyncIterable<Uint8Array>) {
      size += chunk.length
      if (size > most) {
        const reason = 'it unpacks to more than any FIT file holds; check its content'
        throw new UnpackError(refused('too_large', reason))
      }
      yield chunk
    }
  } catch (error) {
    const code = errorCode(error)
    if (code === 'Z_BUF_ERROR') throw new UnpackError(unready('incomplete', 'the gzip file is truncated'))
    if (code.startsWith('Z_'))
      throw new UnpackError(unready('damaged', 'the gzip file is damaged or not written yet'))
    throw error
  }
}

import { Readable } from 'node:stream'
import { DROP_LIMITS, type DropLimits, type Fault, judgeFront, mostUnpacked, refused } from './archive.ts'
import { cleanFitName } from './fit-names.ts'
import { gunzip } from './gzip.ts'
import { unpackZip } from './zip.ts'

/** A FIT file in a dropped file. `open` reads its bytes from the start, and throws UnpackError where they cannot be unpacked. */
export type DroppedFit = { name: string; open: () => AsyncIterable<Uint8Array> }

export type Unpacked = { verdict: 'files'; files: ReadonlyArray<DroppedFit> } | Fault

/**
 * Lists the FIT files in a dropped file: `.fit` as it is, `.fit.gz` unpacked, `.zip` with FIT files inside, the ending in
 * any case. Names are base names, cleaned, different from each other, ending in `.fit`; only the directory of an archive is
 * read, and nothing is judged as FIT yet. `unready` is an archive that may still be written to; `refused` one that holds no
 * FIT file, is locked, holds an archive inside an archive, or unpacks to more than `limits`. Throws the error of the source
 * when reading fails.
 */
export async function unpackDropped(
  name: string,
  source: ByteSource,
  limits: DropLimits = DROP_LIMITS,
): Promise<Unpacked> {
  const one = (open: DroppedFit['open']): Unpacked => ({
    verdict: 'files',
    files: [{ name: cleanFitName(name), open }],
  })
  if (/\.zip$/i.test(name)) return judgeFront(await readFront(source), 'zip') ?? unpackZip(source, limits)
  if (/\.gz$/i.test(name)) {
    const most = mostUnpacked(source.sizeBytes, limits)
    return judgeFront(await readFront(source), 'gzip') ?? one(() => gunzip(source.open(), most))
  }
  if (source.sizeBytes > limits.fileBytes) {
    const mib = limits.fileBytes / 1_024 / 1_024
    return refused('too_large', `it is larger than a FIT file can be (${mib} MiB); check what it holds`)
  }
  return one(() => source.open())
}

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

/** Reads the first two bytes, which show the format of an archive. */
async function readFront(source: ByteSource): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  const range = { start: 0, end: Math.min(2, source.sizeBytes) }
  for await (const chunk of source.open(range) as AsyncIterable<Uint8Array>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import {
  type ByteSource,
  DROP_LIMITS,
  type DropLimits,
  type DroppedFit,
  type Fault,
  isFormat,
  mostUnpacked,
  refused,
  UnpackError,
  type Unpacked,
} from './archive.ts'
import { cleanFitName } from './fit-names.ts'
import { HEADER_SIZES } from './fit-walker.ts'
import { unpackBytes } from './gzip.ts'
import { type FitVerdict, makeFitJudge } from './judge.ts'
import { unpackZip } from './zip.ts'

/**
 * A FIT file that was read from end to end; `contentId` and `sizeBytes` are those of the bytes that `open` gives. `cut`: it is
 * refused because bytes of it are missing or wrong.
 */
export type ReadFit = DroppedFit & {
  verdict: FitVerdict
  contentId: string
  sizeBytes: number
  cut: boolean
}

/**
 * Reads a FIT file piece by piece and judges it. `settled`: its bytes are final. Then a file that would be `unready` is
 * `refused`, and padding behind a whole activity is left out, because a FIT file ends where its header says (FIT protocol,
 * "File Header"). If not settled, reading may stop as soon as the file is `unready`, and `contentId` is that of the bytes so
 * far. Returns a Fault when the file cannot be unpacked; throws the error of the source when reading fails.
 */
export async function readFit(
  file: DroppedFit,
  { settled }: { settled: boolean },
): Promise<ReadFit | { name: string; fault: Fault }> {
  const { name, open } = file
  const judge = makeFitJudge()
  const hash = createHash('sha256')
  let sizeBytes = 0
  let isOpen = true
  try {
    for await (const chunk of open()) {
      hash.update(chunk)
      sizeBytes += chunk.length
      if (isOpen) isOpen = judge.push(chunk)
      if (!isOpen && !settled && judge.end().verdict === 'unready') break
    }
  } catch (error) {
    if (error instanceof UnpackError) return { name, fault: error.fault }
    throw error
  }
  const verdict = judge.end()
  const read = { name, open, verdict, contentId: hash.digest('hex'), sizeBytes, cut: false }
  if (!settled || verdict.verdict !== 'unready') return read
  const { whole } = verdict
  if (!whole) {
    const { code, reason } = verdict
    return { ...read, verdict: { verdict: 'refused', code, reason: `not whole: ${reason}` }, cut: true }
  }
  const front = () => firstBytes(open(), whole.sizeBytes)
  const contentId = await contentIdOf(front())
  const { sizeBytes: frontBytes } = whole
  return { ...read, open: front, verdict: { verdict: 'whole', ...whole }, contentId, sizeBytes: frontBytes }
}

async function* firstBytes(chunks: AsyncIterable<Uint8Array>, count: number): AsyncGenerator<Uint8Array> {
  let left = count
  for await (const chunk of chunks) {
    yield chunk.subarray(0, left)
    left -= chunk.length
    if (left <= 0) return
  }
}

/** Computes the content id of a file: the SHA-256 of its bytes, in hex. The name and the folder do not matter. */
export async function contentIdOf(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex')
}

/**
 * Lists the FIT files in a dropped file by its content, whatever its name: FIT, gzip, or zip with FIT files and further zip archives. Names
 * are base names, cleaned, unique, ending in `.fit`. Reads only the directory of an archive, and does not judge the FIT files. `unready` is
 * an archive that may still grow; `refused` one without a FIT file, or one that unpacks to more than `limits`. Throws the error of the
 * source when reading fails.
 */
export async function unpackDropped(
  name: string,
  source: ByteSource,
  limits: DropLimits = DROP_LIMITS,
): Promise<Unpacked> {
  const front = await readFront(source)
  if (isFormat('zip', front)) return unpackZip(source, limits)
  const isPacked = isFormat('gzip', front)
  const [ending] = /\.(?:zip|gz)$/i.exec(name) ?? []
  // A file that is empty or begins with zeros may still become an archive.
  if (ending && !isPacked && front[0] && !HEADER_SIZES.includes(front[0]))
    return refused('not_archive', `it is named ${ending}, but is neither an archive nor a FIT file`)
  if (source.sizeBytes > limits.fileBytes) {
    const mib = limits.fileBytes / 1_024 / 1_024
    return refused('too_large', `it is larger than a FIT file can be (${mib} MiB); check what it holds`)
  }
  const open = () => unpackBytes(source.open(), mostUnpacked(source.sizeBytes, limits))
  return { verdict: 'files', files: [{ name: cleanFitName(name), open }], isPacked }
}

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

import { createHash } from 'node:crypto'
import { type DroppedFit, describeFault, type Fault, UnpackError } from './archive.ts'
import { type FitVerdict, makeFitJudge } from './judge.ts'

/** A FIT file read to its end. `contentId` and `sizeBytes` describe the bytes of `open`. `cut`: bytes are missing or damaged. */
export type ReadFit = DroppedFit & {
  verdict: FitVerdict
  contentId: string
  sizeBytes: number
  cut: boolean
}

/**
 * Reads a FIT file piece by piece and judges it. `settled`: its bytes are final. Then an `unready` file is `refused`, and padding after a
 * whole activity is left out, because a FIT file ends where its header says (FIT protocol, "File Header"). If not settled, reading may stop
 * once the file is `unready`, and `contentId` covers only the bytes read so far. Returns a Fault if the file cannot be unpacked. Throws the
 * error of the source if reading fails.
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
    const refused = { verdict: 'refused' as const, code: verdict.code, reason: describeFault(verdict) }
    return { ...read, verdict: refused, cut: true }
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

/** Computes the content id of a file: the SHA-256 of its bytes, in hex. Its name and folder do not matter. */
export async function contentIdOf(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex')
}

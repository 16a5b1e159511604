import { type Fault, refused } from './archive/fault.ts'
import { gunzip, judgeGzipFront } from './archive/gzip.ts'
import { DROP_LIMITS, type DropLimits, mostUnpacked } from './archive/limits.ts'
import { listZip } from './archive/zip.ts'
import { cleanFitName } from './names.ts'
import { type ByteSource, readFront } from './source.ts'

/** A FIT file in what was dropped. `open` reads its bytes anew, and throws UnpackError where they cannot be unpacked. */
export type DroppedFit = { name: string; open: () => AsyncIterable<Uint8Array> }

export type Unpacked = { verdict: 'files'; files: ReadonlyArray<DroppedFit> } | Fault

/**
 * Finds the FIT files in what was dropped: `.fit` as it is, `.fit.gz` unpacked, `.zip` with FIT files inside, the ending in
 * any case. Names are base names, cleaned, different from each other, ending in `.fit`; nothing is judged as FIT here, and
 * nothing but the directory of an archive is read. `unready` is an archive that may still be written to; `refused` one that
 * holds no FIT file, is locked, holds an archive inside an archive, or unpacks to more than `limits`. Throws what reading
 * the source throws.
 */
export async function unpackDropped(
  name: string,
  source: ByteSource,
  limits: DropLimits = DROP_LIMITS,
): Promise<Unpacked> {
  if (/\.zip$/i.test(name)) return listZip(source, limits)
  const { fileBytes, ratio } = limits
  if (/\.gz$/i.test(name)) {
    const fault = judgeGzipFront(await readFront(source, 2))
    if (fault) return fault
    const most = mostUnpacked(source.sizeBytes, fileBytes, ratio)
    return {
      verdict: 'files',
      files: [{ name: cleanFitName(name), open: () => gunzip(source.open(), most) }],
    }
  }
  if (source.sizeBytes > fileBytes) {
    const mib = fileBytes / 1_024 / 1_024
    return refused('too_large', `it is larger than a FIT file can be (${mib} MiB); check what it holds`)
  }
  return { verdict: 'files', files: [{ name: cleanFitName(name), open: () => source.open() }] }
}

import { gunzipWithin } from './archive/gzip.ts'
import { DROP_LIMITS, type DropLimits } from './archive/limits.ts'
import { readZip } from './archive/zip.ts'
import { cleanFitName } from './names.ts'

export type UnpackedFile = { name: string; bytes: Uint8Array }

export type Unpacked =
  | { verdict: 'files'; files: ReadonlyArray<UnpackedFile> }
  | { verdict: 'unready'; code: string }
  | { verdict: 'refused'; code: string; reason: string }

/**
 * Takes the FIT files out of what was dropped: `.fit` as it is, `.fit.gz` unpacked, `.zip` with FIT files inside, the
 * ending in any case. Names that come out are base names, cleaned, different from each other, ending in `.fit`; nothing
 * is judged as FIT here. `unready` is an archive that may still be written to; `refused` one that holds no FIT file, is
 * locked, holds an archive inside an archive, or unpacks to more than `limits`. Never throws.
 */
export async function unpackDropped(
  name: string,
  bytes: Uint8Array,
  limits: DropLimits = DROP_LIMITS,
): Promise<Unpacked> {
  if (/\.zip$/i.test(name)) return readZip(bytes, limits)
  if (!/\.gz$/i.test(name)) return { verdict: 'files', files: [{ name: cleanFitName(name), bytes }] }
  const read = await gunzipWithin(bytes, limits.fileBytes, limits.ratio)
  if (!('bytes' in read)) return read
  return {
    verdict: 'files',
    files: [{ name: cleanFitName(name.replace(/\.gz$/i, '')), bytes: read.bytes }],
  }
}

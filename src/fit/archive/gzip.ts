import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { errorCode } from '../../kit/errors.ts'
import { mostUnpacked } from './limits.ts'

export type Gunzipped =
  | { bytes: Uint8Array }
  | { verdict: 'unready'; code: string }
  | { verdict: 'refused'; code: string; reason: string }

const unpack = promisify(gunzip)

/**
 * Unpacks gzip bytes to at most `fileBytes`, and at most `ratio` times their own size. A cut or damaged body is `unready`,
 * since a file that is still being copied looks the same; other bytes than gzip are `refused`. Never throws.
 */
export async function gunzipWithin(bytes: Uint8Array, fileBytes: number, ratio: number): Promise<Gunzipped> {
  const [first, second] = bytes
  if (first === undefined) return { verdict: 'unready', code: 'empty' }
  if (first === 0) return { verdict: 'unready', code: 'reserved' }
  if (first !== 0x1f || (second !== undefined && second !== 0x8b)) {
    return { verdict: 'refused', code: 'not_gzip', reason: 'it is named .gz, but is no gzip file' }
  }
  const maxOutputLength = mostUnpacked(bytes.length, fileBytes, ratio)
  try {
    return { bytes: await unpack(bytes, { maxOutputLength }) }
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ERR_BUFFER_TOO_LARGE') {
      return { verdict: 'refused', code: 'too_large', reason: 'it unpacks to more than a FIT file can be' }
    }
    return { verdict: 'unready', code: code === 'Z_BUF_ERROR' ? 'incomplete' : 'damaged' }
  }
}

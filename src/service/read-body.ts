import type { Readable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { decodeGzip } from '../kit/decode-gzip.ts'
import type { Hold, Semaphore } from '../kit/semaphore.ts'
import { tooLarge } from './service-errors.ts'

/** A body, decoded, and as it came when that was gzip. */
type Body = { decoded: Buffer; gzipped: Buffer | undefined }

/** The first buffer for a body of unknown length. */
const FIRST_BYTES = 64 * 1024
/** A larger answer waits until no other one is held: five hours of samples. */
const LARGE_BYTES = 8_000_000

/** Let one large answer be read at a time, and one be held; a caller that holds one may read another. */
export type LargeAnswers = { read: Semaphore; held: Semaphore }

type Input = { encoding: string | undefined; length: number | undefined; maxBytes: number; what: string }

/**
 * Reads a body and decodes gzip. Throws `too_large` as soon as its size, decoded or not, passes the limit (bytes); a stream
 * or gzip that ends early throws the library's error. `length` is the Content-Length. What is large is read when `large` allows it,
 * while its connection waits; with a `hold` it is read when no other one is held, and held until that is released.
 */
export async function readBody(
  body: Readable,
  { large, hold, ...input }: Input & { large: LargeAnswers; hold: Hold | undefined },
): Promise<Body> {
  const { maxBytes } = input
  const pieces = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const began = await collect(pieces, { ...input, pauseAt: LARGE_BYTES })
  if (began.ended) {
    const read = await decode(began.bytes, { ...input, maxBytes: Math.min(maxBytes, LARGE_BYTES) }).catch(
      (error: unknown) => (isTooLarge(error) && maxBytes > LARGE_BYTES ? undefined : Promise.reject(error)),
    )
    if (read) return read
  }
  const readLarge = () =>
    large.read(1, async () => {
      // The buffers of the answer before are in memory until the whole heap is collected.
      collectGarbage()
      const whole = began.ended ? began : await collect(pieces, { ...input, began })
      return decode(whole.bytes, input)
    })
  if (!hold) return readLarge()
  return new Promise((resolve, reject) => {
    const work = async () => {
      resolve(await readLarge())
      hold.isTaken = true
      await hold.released
    }
    large.held(1, work).catch(reject)
  })
}

async function decode(came: Buffer, { encoding, maxBytes, what }: Input): Promise<Body> {
  if (!isGzip(encoding)) return { decoded: came, gzipped: undefined }
  try {
    return { decoded: await decodeGzip(came, maxBytes), gzipped: came }
  } catch (error) {
    const outgrown = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    throw outgrown ? tooLarge(what, maxBytes) : error
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'too_large'
}

type Collected = { bytes: Buffer; ended: boolean }

/** Collects what comes, after what `began`, to its end or to the first piece behind `pauseAt`. */
async function collect(
  pieces: AsyncIterator<Buffer>,
  { length, maxBytes, what, began, pauseAt = maxBytes }: Input & { began?: Collected; pauseAt?: number },
): Promise<Collected> {
  // Chunks are copied to their place at once, so that an answer of several MB is in memory once and not twice.
  let whole = began?.bytes ?? Buffer.allocUnsafeSlow(Math.min(length ?? FIRST_BYTES, maxBytes, pauseAt))
  let size = began?.bytes.length ?? 0
  while (size <= pauseAt) {
    const { done, value: chunk } = await pieces.next()
    if (done) return { bytes: whole.subarray(0, size), ended: true }
    if (size + chunk.length > maxBytes) {
      await pieces.return?.()
      throw tooLarge(what, maxBytes)
    }
    if (size + chunk.length > whole.length) {
      const wanted = Math.min(2 * Math.max(whole.length, FIRST_BYTES), maxBytes)
      const longer = Buffer.allocUnsafeSlow(Math.max(size + chunk.length, wanted))
      whole.copy(longer, 0, 0, size)
      whole = longer
    }
    chunk.copy(whole, size)
    size += chunk.length
  }
  return { bytes: whole.subarray(0, size), ended: false }
}

/** Whether a Content-Encoding is one that this client decodes. */
export function isKnownEncoding(encoding: string | undefined): boolean {
  return isGzip(encoding) || /^(identity)?$/i.test(encoding?.trim() ?? '')
}

function isGzip(encoding: string | undefined): boolean {
  return /^(x-)?gzip$/i.test(encoding?.trim() ?? '')
}

/** Collects the garbage of this process at once: what only a wait without a holder keeps alive is gone afterwards. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

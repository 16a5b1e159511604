import type { Readable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { decodeGzip } from '../kit/decode-gzip.ts'
import { errorCode } from '../kit/errors.ts'
import type { Hold, Semaphore } from '../kit/semaphore.ts'
import { tooLarge } from './service-errors.ts'

/** A decoded body, and its gzipped bytes when it came so. */
type Body = { decoded: Buffer; gzipped: Buffer | undefined }

/** The first buffer for a body of unknown length. */
const FIRST_BYTES = 64 * 1024
/** Larger answers are read one at a time; this is five hours of samples. */
const LARGE_BYTES = 8_000_000

/** One large answer is read at a time, and one is held; the caller that holds one may read another. */
export type LargeAnswers = { read: Semaphore; held: Semaphore }

type Input = { encoding: string | undefined; length: number | undefined; maxBytes: number; what: string }

/**
 * Reads a body and decodes gzip. Throws `too_large` as soon as its size, decoded or not, passes the limit (bytes), and the library's error
 * when it ends early. `length` is the Content-Length. A large body is read when `large` allows it; with a `hold` it waits until no other is
 * held, and is held until the release.
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
      (error: unknown) =>
        errorCode(error) === 'too_large' && maxBytes > LARGE_BYTES ? undefined : Promise.reject(error),
    )
    if (read) return read
  }
  const readLarge = () =>
    large.read(1, async () => {
      // The buffers of the last answer stay in memory until a full collection.
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
    throw errorCode(error) === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(what, maxBytes) : error
  }
}

type Collected = { bytes: Buffer; ended: boolean }

/** Reads pieces, after those in `began`, to the end or until the size passes `pauseAt`. */
async function collect(
  pieces: AsyncIterator<Buffer>,
  { length, maxBytes, what, began, pauseAt = maxBytes }: Input & { began?: Collected; pauseAt?: number },
): Promise<Collected> {
  // Chunks are copied at once, so that a large answer is in memory once and not twice.
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

/** Collects all garbage at once, including what only an abandoned wait keeps alive. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { isKnownEncoding, readBody } from '../../../src/core/service/transport.ts'
import { makeSemaphore } from '../../../src/kit/semaphore.ts'

/** Reads bytes that come in pieces of 50,000. */
function read(bytes: Buffer, input: { encoding?: string; length?: number; maxBytes?: number } = {}) {
  const pieces = Array.from({ length: Math.ceil(bytes.length / 50_000) }, (_, index) =>
    bytes.subarray(index * 50_000, (index + 1) * 50_000),
  )
  const { encoding, length, maxBytes = 1_000_000 } = input
  return readBody(Readable.from(pieces), {
    encoding,
    length,
    maxBytes,
    what: 'ride',
    large: { read: makeSemaphore(1), held: makeSemaphore(1) },
    hold: undefined,
  })
}

const bytes = Buffer.from(Uint8Array.from({ length: 170_001 }, (_, index) => index % 251))
const tooLarge = { code: 'too_large', message: 'ride: the answer is larger than 170000 bytes' }

describe('the body of an answer', () => {
  it('is whole for a known, unknown or wrong length, and limited in size, received and decoded', async () => {
    for (const length of [undefined, 0, 10, bytes.length, 500_000])
      expect((await read(bytes, length === undefined ? {} : { length })).decoded.equals(bytes)).toBe(true)
    expect((await read(Buffer.alloc(0))).decoded).toHaveLength(0)
    for (const [encoding, sent] of [['identity', bytes] as const, ['gzip', gzipSync(bytes)] as const]) {
      expect((await read(sent, { encoding, maxBytes: 170_001 })).decoded.equals(bytes)).toBe(true)
      await expect(read(sent, { encoding, maxBytes: 170_000 })).rejects.toMatchObject(tooLarge)
    }
  })

  it('is kept gzipped under any name of gzip; a broken one does not count as large', async () => {
    const sent = gzipSync(bytes)
    const { decoded, gzipped } = await read(sent, { encoding: ' X-GZIP ' })
    expect([decoded.equals(bytes), gzipped?.equals(sent)]).toEqual([true, true])
    expect((await read(bytes, { encoding: '' })).gzipped).toBeUndefined()
    await expect(read(sent.subarray(0, 100), { encoding: 'gzip' })).rejects.not.toMatchObject(tooLarge)
  })

  it('is accepted in gzip and unpacked, in no other encoding', () => {
    const accepted = [undefined, '', ' identity', 'GZIP', 'br', 'gzip, gzip'].filter(isKnownEncoding)
    expect(accepted).toEqual([undefined, '', ' identity', 'GZIP'])
  })
})

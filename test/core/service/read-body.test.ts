import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { isKnownEncoding, readBody } from '../../../src/core/service/transport.ts'
import { type Hold, makeSemaphore, withHold } from '../../../src/kit/semaphore.ts'

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

  it('when large and to be held, waits for the last held one; others do not wait', async () => {
    const large = { read: makeSemaphore(1), held: makeSemaphore(1) }
    const body = Buffer.alloc(8_000_001)
    const input = { encoding: undefined, length: undefined, maxBytes: 10_000_000, what: 'ride', large }
    const readLarge = (hold?: Hold) => readBody(Readable.from([body]), { ...input, hold })
    const ends: string[] = []
    await withHold(async (hold) => {
      await readLarge(hold)
      void withHold(readLarge).then(() => ends.push('next'))
      await readLarge().then(() => ends.push('other'))
      await new Promise((resolve) => setTimeout(resolve, 50))
      expect([hold.isTaken, ends]).toEqual([true, ['other']])
    })
    // A hold that has ended keeps nothing.
    let ended: Hold | undefined
    await withHold(async (hold) => {
      ended = hold
    })
    await readLarge(ended)
    await withHold(readLarge)
    expect(ends).toEqual(['other', 'next'])
  })

  it('is accepted in gzip and unpacked, in no other encoding', () => {
    const accepted = [undefined, '', ' identity', 'GZIP', 'br', 'gzip, gzip'].filter(isKnownEncoding)
    expect(accepted).toEqual([undefined, '', ' identity', 'GZIP'])
  })
})

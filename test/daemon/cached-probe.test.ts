import { describe, expect, it } from 'vitest'
import { makeCachedProbe } from '../../src/daemon/cached-probe.ts'

const LONG_MS = 3_600_000

/** A read that counts how often it is made and ends when told. */
function makeRead() {
  const ends: Array<{ resolve(value: number): void; reject(error: Error): void }> = []
  const read = () => new Promise<number>((resolve, reject) => void ends.push({ resolve, reject }))
  return { read, ends }
}

describe('a reading', () => {
  it('is read once, however many ask for it, and again when it is old', async () => {
    const { read, ends } = makeRead()
    const probe = makeCachedProbe(read, { keepMs: 0, timeoutMs: LONG_MS })
    const asked = Promise.all([probe(), probe(), probe()])
    ends[0]?.resolve(1)
    expect(await asked).toEqual([1, 1, 1])
    expect(ends).toHaveLength(1)
    const again = probe()
    ends[1]?.resolve(2)
    expect(await again).toBe(2)
  })

  it('is not read again while it is fresh, also when it failed', async () => {
    const { read, ends } = makeRead()
    const probe = makeCachedProbe(read, { keepMs: LONG_MS, timeoutMs: LONG_MS })
    const asked = probe()
    ends[0]?.reject(new Error('away'))
    await expect(asked).rejects.toThrow('away')
    await expect(probe()).rejects.toThrow('away')
    expect(ends).toHaveLength(1)
  })

  it('lets nobody wait long, and gives what came meanwhile to who asks next', async () => {
    const { read, ends } = makeRead()
    const probe = makeCachedProbe(read, { keepMs: LONG_MS, timeoutMs: 1 })
    await expect(probe()).rejects.toMatchObject({ code: 'no_answer' })
    ends[0]?.resolve(3)
    expect(await probe()).toBe(3)
    expect(ends).toHaveLength(1)
  })
})

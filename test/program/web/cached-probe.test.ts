import { describe, expect, it } from 'vitest'
import { makeCachedProbe } from '../../../src/program/frame/cached-probe.ts'

const LONG_MS = 3_600_000

/** A read that counts its calls and ends when the test says so. */
function makeRead() {
  const ends: Array<{ resolve(value: number): void; reject(error: Error): void }> = []
  const read = () => new Promise<number>((resolve, reject) => void ends.push({ resolve, reject }))
  return { read, ends }
}

describe('a cached probe', () => {
  it('runs once for all callers at a time, and again when its answer is old', async () => {
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

  it('does not run again while its answer is fresh, also when it failed', async () => {
    const { read, ends } = makeRead()
    const probe = makeCachedProbe(read, { keepMs: LONG_MS, timeoutMs: LONG_MS })
    const asked = probe()
    ends[0]?.reject(new Error('away'))
    await expect(asked).rejects.toThrow('away')
    await expect(probe()).rejects.toThrow('away')
    expect(ends).toHaveLength(1)
  })

  it('ends a long wait, and returns the late answer to the next caller', async () => {
    const { read, ends } = makeRead()
    const probe = makeCachedProbe(read, { keepMs: LONG_MS, timeoutMs: 1 })
    await expect(probe()).rejects.toMatchObject({ code: 'no_answer' })
    ends[0]?.resolve(3)
    expect(await probe()).toBe(3)
    expect(ends).toHaveLength(1)
  })
})

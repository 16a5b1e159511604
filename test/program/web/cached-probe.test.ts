import { expect, it } from 'vitest'
import { makeCachedProbe } from '../../../src/program/frame/cached-probe.ts'

it('a cached probe runs once for all callers, and again when its result or failure is old', async () => {
  const results = [Promise.reject(new Error('away')), Promise.resolve(1), Promise.resolve(2)]
  let runs = 0
  const read = () => results[runs++] as Promise<number>
  const kept = makeCachedProbe(read, { keepMs: 3_600_000 })
  for (const caller of [kept(), kept()]) await expect(caller).rejects.toThrow('away')
  await expect(kept()).rejects.toThrow('away')
  const old = makeCachedProbe(read, { keepMs: 0 })
  expect(await Promise.all([old(), old(), old()])).toEqual([1, 1, 1])
  expect([await old(), runs]).toEqual([2, 3])
})

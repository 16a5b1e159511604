import { expect, it } from 'vitest'
import { eachAtOnce, makeSemaphore } from '../../src/kit/semaphore.ts'

it('a semaphore runs work in order, within its total of units', async () => {
  const semaphore = makeSemaphore(100)
  const held = new Set<number>()
  const most: number[] = []
  const began: number[] = []
  const sizes = [60, 30, 20, 500, 10, 90, 10]
  const sum = () => [...held].reduce((total, place) => total + (sizes[place] ?? 0), 0)
  await Promise.all(
    sizes.map((bytes, place) =>
      semaphore(bytes, async () => {
        held.add(place)
        began.push(place)
        if (bytes <= 100) most.push(sum())
        else expect(held.size).toBe(1)
        await new Promise((resolve) => setImmediate(resolve))
        held.delete(place)
      }),
    ),
  )
  expect(Math.max(...most)).toBeLessThanOrEqual(100)
  expect(began).toEqual([0, 1, 2, 3, 4, 5, 6])
})

it('a semaphore reuses the units of failed work', async () => {
  const semaphore = makeSemaphore(10)
  await expect(semaphore(10, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await semaphore(10, async () => 'next')).toBe('next')
})

it('eachAtOnce starts no item after an error, and throws it when running items have ended', async () => {
  const begun: number[] = []
  const ended: number[] = []
  const work = async (item: number) => {
    begun.push(item)
    await new Promise((resolve) => setImmediate(resolve))
    if (item === 2) throw new Error('the second')
    await new Promise((resolve) => setImmediate(resolve))
    ended.push(item)
  }
  // Unlike a generator, the iterator of an array does not end for all workers when one throws.
  await expect(eachAtOnce([1, 2, 3, 4, 5, 6].values(), 3, work)).rejects.toThrow('the second')
  expect({ begun, ended }).toEqual({ begun: [1, 2, 3], ended: [1, 3] })
})

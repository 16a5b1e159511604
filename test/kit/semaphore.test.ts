import { expect, it } from 'vitest'
import { makeSemaphore } from '../../src/kit/semaphore.ts'

it('a semaphore runs work of no more units together than the total, in the order it came, and the largest alone', async () => {
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

it('a semaphore gives the units of work that failed to the next', async () => {
  const semaphore = makeSemaphore(10)
  await expect(semaphore(10, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await semaphore(10, async () => 'next')).toBe('next')
})

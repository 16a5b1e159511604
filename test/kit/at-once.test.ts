import { expect, it } from 'vitest'
import { eachAtOnce } from '../../src/kit/at-once.ts'

const ITEMS = [1, 2, 3, 4, 5, 6]

it.each([
  ['a list', () => ITEMS],
  ['a set', () => new Set(ITEMS)],
  ['an iterator', () => ITEMS.values()],
])('begins no item of %s after an error, and throws it when those under way have ended', async (_, items) => {
  const begun: number[] = []
  const ended: number[] = []
  const work = async (item: number) => {
    begun.push(item)
    await new Promise((resolve) => setImmediate(resolve))
    if (item === 2) throw new Error('the second')
    await new Promise((resolve) => setImmediate(resolve))
    ended.push(item)
  }
  await expect(eachAtOnce(items(), 3, work)).rejects.toThrow('the second')
  expect({ begun, ended }).toEqual({ begun: [1, 2, 3], ended: [1, 3] })
  await eachAtOnce(items(), 3, async (item) => void ended.push(item))
  expect(ended).toEqual([1, 3, ...ITEMS])
})

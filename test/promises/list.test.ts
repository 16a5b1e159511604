import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { BREAKINGS } from './list/all.ts'
import { countParts, readPromises } from './promises.ts'

// `npm run promises` breaks each of them and runs its test. Here the list is only kept fit for that, in no time.
const promises = new Map(readPromises().map((promised) => [promised.promise, promised]))

it('each promise of the pages has a way to break it', () => {
  const broken = new Set(BREAKINGS.map(({ promise }) => promise))
  expect([...promises.keys()].filter((promise) => !broken.has(promise))).toEqual([])
  expect(promises.size).toBe(readPromises().length)
})

it('each way to break a promise belongs to a line of a page with an existing test', () => {
  const orphans = BREAKINGS.filter(({ promise }) => !promises.has(promise)).map(({ promise }) => promise)
  expect(orphans).toEqual([])
  for (const { promise } of BREAKINGS) {
    const { file = '', title = '' } = promises.get(promise) ?? {}
    expect(existsSync(file) && readFileSync(file, 'utf8').includes(title), promise).toBe(true)
  }
})

it('each way to break a promise changes a text that is once in its file', () => {
  for (const { in: file, from, to } of BREAKINGS) {
    expect(`${from}${to}`).not.toContain('\n')
    expect(to).not.toBe(from)
    expect(countParts(readFileSync(file, 'utf8'), from), `${file}: ${from}`).toBe(1)
  }
})

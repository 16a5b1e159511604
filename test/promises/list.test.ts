import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { countParts, readBreaks, readPromises } from './promises.ts'

// `npm run promises` breaks each of them and runs its test. Here the list is only kept fit for that, in no time.
const breaks = readBreaks()

it('each promise of the pages has a way to break it', () => {
  const promises = readPromises().map(({ promise }) => promise)
  const broken = new Set(breaks.map(({ promise }) => promise))
  expect(promises.filter((promise) => !broken.has(promise))).toEqual([])
  expect(new Set(promises).size).toBe(promises.length)
})

it('each way to break a promise changes a text that is once in its file, and has an existing test', () => {
  for (const { promise, file, title, in: path, from, to } of breaks) {
    expect(existsSync(file) && readFileSync(file, 'utf8').includes(title), promise).toBe(true)
    expect(to).not.toBe(from)
    expect(countParts(readFileSync(path, 'utf8'), from), `${path}: ${from}`).toBe(1)
  }
})

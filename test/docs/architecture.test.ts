import { describe, expect, it } from 'vitest'
import { readTop } from '../container/dockerfile.ts'
import { findWrongNames } from './named-code.ts'

describe('the pages for a contributor', () => {
  it.each([
    ['ARCHITECTURE.md', 30],
    ['CONTRIBUTING.md', 12],
    ['docs/decisions.md', 15],
  ])('name existing files and functions: %s', (name, least) => {
    const { files, wrong } = findWrongNames(readTop(name))
    expect(wrong).toEqual([])
    expect(files).toBeGreaterThan(least)
  })

  it('fail the check with a planted name', () => {
    const planted = [
      '1. In `src/kit/gone.ts` nothing is left.',
      '2. `src/kit/time.ts` `sleep()` and `gone()`; `within()` too.',
      '3. `sleep()` of no file.',
    ].join('\n')
    expect(findWrongNames(planted).wrong).toEqual([
      'src/kit/gone.ts is not there',
      'gone() is not in src/kit/time.ts',
      'sleep() follows no file',
    ])
  })
})

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
})

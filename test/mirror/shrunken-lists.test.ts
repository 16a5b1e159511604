import { expect, it } from 'vitest'
import { isShrunken } from '../../src/mirror/poorer-answers.ts'

it.each([
  [{ before: 3, gone: 3, listed: 0, emptyAllowed: 2 }, true],
  [{ before: 2, gone: 2, listed: 0, emptyAllowed: 2 }, false],
  [{ before: 0, gone: 0, listed: 0, emptyAllowed: 2 }, false],
  [{ before: 1, gone: 0, listed: 0, emptyAllowed: 0 }, true],
  [{ before: 0, gone: 0, listed: 0, emptyAllowed: 0 }, false],
  [{ before: 20, gone: 5, listed: 15, emptyAllowed: 2 }, false],
  [{ before: 20, gone: 6, listed: 14, emptyAllowed: 2 }, true],
  [{ before: 100, gone: 20, listed: 80, emptyAllowed: 0 }, false],
  [{ before: 100, gone: 21, listed: 79, emptyAllowed: 0 }, true],
])('a list with %j is refused as shrunken: %s', (list, refused) => {
  expect(isShrunken(list)).toBe(refused)
})

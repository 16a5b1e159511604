import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { formatPaperKey, parsePaperKeys } from '../../../src/core/vault/paper-key.ts'

describe('a key on paper', () => {
  const key = randomBytes(32)
  const groups = formatPaperKey(key).flatMap((line) => line.slice(4).split(' '))
  const withGroup = (at: number, group: string) => groups.with(at, group).join(' ')
  const swapDigits = (text: string, at: number) =>
    text.slice(0, at) + text[at + 1] + text[at] + text.slice(at + 2)

  it('is read back with any spacing, among other keys, and from a key file', () => {
    const other = randomBytes(32)
    const print = [key, other]
      .flatMap((each) => ['musette key 12345678, …', ...formatPaperKey(each)])
      .join('\n')
    expect(parsePaperKeys(print)).toEqual([key, other])
    for (const text of [
      groups.join(' '),
      groups.join('-'),
      `  ${groups.join('\n  ')}\n`,
      `${key.toString('base64')}\n`,
    ])
      expect(parsePaperKeys(text)).toEqual([key])
  })

  it('reveals a wrong or swapped digit by the number of its group, without digits', () => {
    for (const [at, group] of groups.entries()) {
      const wrong = [...group].flatMap((digit, place) => [
        ...[...'0123456789']
          .filter((one) => one !== digit)
          .map((one) => group.slice(0, place) + one + group.slice(place + 1)),
        ...(place < 5 && group[place + 1] !== digit ? [swapDigits(group, place)] : []),
      ])
      for (const typed of [...wrong, group.slice(1), `${group}0`, `o${group.slice(1)}`]) {
        let message = ''
        try {
          parsePaperKeys(withGroup(at, typed))
        } catch (error) {
          message = (error as Error).message
        }
        expect(message).toBe(
          `this is not a key: group ${at + 1} has a typing error; compare it with the output of: musette key export`,
        )
      }
    }
  })

  it.each([
    ['without a group', groups.slice(1).join(' '), /17 groups of six digits, but the text has 16/],
    [
      'with two groups swapped',
      groups
        .with(3, groups[7] ?? '')
        .with(7, groups[3] ?? '')
        .join(' '),
      /in the wrong order/,
    ],
    ['that has only words', 'Dear friend', /the text has 0/],
  ])('%s is refused', (_, text, sentence) => {
    expect(() => parsePaperKeys(text)).toThrow(sentence)
  })
})

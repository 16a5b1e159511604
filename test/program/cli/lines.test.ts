import { expect, it } from 'vitest'
import { VERBS } from '../../../src/program/cli/cli.ts'
import { accountOf, LINES, wordsOfVerb } from './lines.ts'

const words = VERBS.map((verb) => verb.words)

it('every verb has a line for where there are no data, or is left to other tests', () => {
  const typed = [...LINES.asks, ...LINES.connects].map(wordsOfVerb)
  expect([...new Set([...typed, ...LINES.others])].sort()).toEqual(words.toSorted())
})

it('every verb with an account has a line, or is about all of them', () => {
  const named = [...LINES.ofAccount.map(wordsOfVerb), ...LINES.ofAll]
  expect(named.sort()).toEqual(words.filter((each) => accountOf(each)).sort())
})

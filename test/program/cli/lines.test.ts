import { expect, it } from 'vitest'
import { VERBS } from '../../../src/program/cli/cli.ts'
import { accountOf, LINES, wordsOfVerb } from './lines.ts'

const words = VERBS.map((verb) => verb.words)

it('every verb is tested without data, here or in another test', () => {
  const typed = [...LINES.asks, ...LINES.connects].map(wordsOfVerb)
  expect([...new Set([...typed, ...LINES.others])].sort()).toEqual(words.toSorted())
})

it('every verb that takes an account is tested with one, or covers all accounts', () => {
  const named = [...LINES.ofAccount.map(wordsOfVerb), ...LINES.ofAll]
  expect(named.sort()).toEqual(words.filter((each) => accountOf(each)).sort())
})

import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { dateOf, makeManPage } from './man-page.ts'

const page = await readFile('docs/musette.1', 'utf8')

it('docs/musette.1 equals the help of verbs and settings', () => {
  expect(page, 'run: npm run docs').toBe(makeManPage(dateOf(page)))
})

it('the man page has no line that begins with a control character of roff, unless it is a macro', () => {
  for (const line of page.split('\n'))
    expect(line).toMatch(/^(\.(TH|SH|SS|TP|PP|B|RS|RE|nf|fi|nh|ad)\b|[^.'])|^$/)
})

import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { readTop } from '../container/dockerfile.ts'

/** A file of ours, one of SQL, also by its path below drizzle/structure, or a function. */
const NAMED = /`(src\/[\w./-]+)`|`((?:drizzle|views|functions|tables)\/[\w./-]+)`|`(\w+)\(\)`/g

it.each([
  ['ARCHITECTURE.md', 30],
  ['CONTRIBUTING.md', 12],
  ['docs/decisions.md', 15],
])('a page for a contributor names existing files and functions: %s', (page, least) => {
  const wrong: string[] = []
  let files = 0
  // A function belongs to the file that is named last before it in its item.
  for (const item of readTop(page).split(/\n(?=\s*(?:\d+\.|-|\||\n))/)) {
    let text = ''
    for (const [named, source, sql, name] of item.matchAll(NAMED)) {
      const path = sql === undefined ? source : sql.replace(/^(?!drizzle)/, 'drizzle/structure/')
      if (path !== undefined) {
        files += 1
        text = existsSync(path) && path.includes('.') ? readFileSync(path, 'utf8') : ''
        if (!existsSync(path)) wrong.push(`${named} is not there`)
      } else if (!new RegExp(`\\b(?:function\\*?|const) ${name}\\b`).test(text))
        wrong.push(`${named} follows no file that has it`)
    }
  }
  expect(wrong).toEqual([])
  expect(files).toBeGreaterThan(least)
})

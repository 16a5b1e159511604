import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { FEATURES } from '../../src/features/index.ts'
import { parseDuration } from '../../src/kit/time.ts'
import { loadCatalog } from '../../src/program/frame/feature-jobs.ts'
import { readTop } from '../container/dockerfile.ts'
import { readConfig } from '../kit/config.ts'

/** The last cell of a line: a test file and the title of a test in it. */
const TEST = /^\| .* \| `(test\/[\w./-]+\.ts)`: ([^|]+) \|$/gm
const PAGES = [
  { page: 'docs/security.md', least: 30 },
  { page: 'docs/guarantees.md', least: 45 },
]

describe.each(PAGES)('$page', ({ page, least }) => {
  it('names a test behind each promise, by its whole title', () => {
    const lines = [...readTop(page).matchAll(TEST)]
    expect(lines.length).toBeGreaterThan(least)
    for (const [line, file = '', title = ''] of lines) {
      expect(existsSync(file), line).toBe(true)
      expect(titlesOf(file), line).toContain(title.trim())
    }
  })

  it('has no table of promises with a line that names no test', () => {
    const tables = readTop(page).matchAll(/^\| .* \| test \|\n\|[ -|]+\|\n((?:\|.*\|\n)+)/gm)
    const lines = [...tables].flatMap(([, rows = '']) => rows.trim().split('\n'))
    expect(lines.length).toBeGreaterThan(least)
    expect(lines.filter((line) => !new RegExp(TEST.source).test(line))).toEqual([])
    const tablesOfPage = readTop(page).match(/^\|.*(?:\n\|.*)+/gm) ?? []
    const uneven = tablesOfPage.flatMap((table) => {
      const [head = '', ...rows] = table.split('\n')
      return rows.filter((row) => row.split(' | ').length !== head.split(' | ').length)
    })
    expect(uneven).toEqual([])
  })
})

it('docs/guarantees.md has the interval of every job that mirrors', async () => {
  const rows = [...readTop('docs/guarantees.md').matchAll(/^\| [^|]+ \| (\d+[smhd]) \| `([a-z-]+)`/gm)]
  const written = Object.fromEntries(
    rows.map(([, duration = '', name = '']) => [name, parseDuration(duration)]),
  )
  const jobs = Object.entries(await loadCatalog(readConfig({}), FEATURES))
  const wanted = jobs.flatMap(([name, { schedule }]) =>
    schedule?.everyMs === undefined ? [] : [[name, schedule.everyMs]],
  )
  expect(written).toEqual(Object.fromEntries(wanted))
})

function titlesOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/[([]\s*'((?:[^'\\\n]|\\.)+)'/g)].map(([, title = '']) => title)
}

import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { FEATURES } from '../../src/features/index.ts'
import { parseDuration } from '../../src/kit/time.ts'
import { loadCatalog } from '../../src/program/frame/feature-jobs.ts'
import { readTop } from '../container/dockerfile.ts'
import { readConfig } from '../kit/config.ts'
import { ROW, readPromises } from '../promises/promises.ts'

const PAGES = [
  { page: 'docs/security.md', least: 30 },
  { page: 'docs/guarantees.md', least: 45 },
]

describe.each(PAGES)('$page', ({ page, least }) => {
  it('names a test behind each promise, by its whole title', () => {
    const promises = readPromises().filter((promised) => promised.page === page)
    expect(promises.length).toBeGreaterThan(least)
    for (const { promise, file, title } of promises) {
      expect(existsSync(file), promise).toBe(true)
      expect(titlesOf(file), promise).toContain(title)
    }
  })

  it('has no table of promises with a line that names no test', () => {
    const tables = readTop(page).matchAll(/^\| .* \| test \|\n\|[ -|]+\|\n((?:\|.*\|\n)+)/gm)
    const lines = [...tables].flatMap(([, rows = '']) => rows.trim().split('\n'))
    expect(lines.length).toBeGreaterThan(least)
    expect(lines.filter((line) => !new RegExp(ROW.source).test(line))).toEqual([])
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
  const jobs = Object.entries(await loadCatalog(readConfig({ MUSETTE_BACKUP_DIR: 'off' }), FEATURES))
  const wanted = jobs.flatMap(([name, { schedule }]) =>
    schedule?.everyMs === undefined ? [] : [[name, schedule.everyMs]],
  )
  expect(written).toEqual(Object.fromEntries(wanted))
})

function titlesOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/[([]\s*'((?:[^'\\\n]|\\.)+)'/g)].map(([, title = '']) => title)
}

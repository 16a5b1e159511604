import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { readSources, type SourceFile } from './rooms.ts'

/** What reckons a day, a week, a month or a year from an instant: the functions and views of schema training say once what they are. */
const RECKONING =
  /at time zone|current_date|date_part|date_trunc|extract\s*\(\s*(?:year|month|week|day|dow)/gi

/** How often each file may have such words at most, and why. */
const EXCEPTIONS: Readonly<Record<string, readonly [times: number, reason: string]>> = {
  'features/mcp/guarded-reader.ts': [1, 'a comment says whose day current_date is'],
  'features/mcp/tools/run-query.ts': [1, 'a sentence says whose day current_date is'],
  'features/export/rows/partitions.ts': [2, 'the number of the month that names a folder'],
  'features/export/rows/export-rows.ts': [2, 'the text of an instant, in UTC and in milliseconds'],
  'core/store/activities/zone-rows.ts': [4, 'writes started_at_local, from which all days come'],
}

const sources = readSources()
const dashboards = readdirSync('config/grafana/dashboards').map((name) => ({
  path: `config/grafana/dashboards/${name}`,
  text: readFileSync(`config/grafana/dashboards/${name}`, 'utf8'),
}))

function listReckoning(files: readonly Pick<SourceFile, 'path' | 'text'>[]): string[] {
  return files.flatMap(({ path, text }) => {
    const found = text.match(RECKONING) ?? []
    const [times] = EXCEPTIONS[path] ?? [0]
    return found.length <= times ? [] : [`${path}: ${found.join(', ')}`]
  })
}

it('days, weeks and seasons are asked of the functions and views of schema training, and reckoned nowhere else', () => {
  expect(listReckoning([...sources, ...dashboards])).toEqual([])
  expect(dashboards.length).toBeGreaterThan(3)
  const planted = [
    {
      path: 'features/mcp/tools/planted.ts',
      text: "select (t at TIME ZONE 'UTC')::date, extract(year from t)",
    },
    { path: 'features/export/rows/export-rows.ts', text: 'date_trunc '.repeat(3) },
  ]
  expect(listReckoning(planted)).toEqual([
    'features/mcp/tools/planted.ts: at TIME ZONE, extract(year',
    'features/export/rows/export-rows.ts: date_trunc, date_trunc, date_trunc',
  ])
})

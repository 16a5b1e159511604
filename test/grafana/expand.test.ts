import { expect, it } from 'vitest'
import { expandQuery, parseStart } from './expand.ts'

const range = { from: new Date('2025-01-01T00:00:00Z'), to: new Date('2025-07-01T00:00:00Z') }
const expand = (sql: string) => expandQuery(sql, { variables: { name: "d'Or", id: '7' }, range })

it('expand writes a time filter as Grafana does, quotes a variable on request, and refuses what it does not know', () => {
  expect(expand(`$__timeFilter(a.at) and \${name:sqlstring}, \${id}, $id`)).toBe(
    "a.at BETWEEN '2025-01-01T00:00:00.000Z' AND '2025-07-01T00:00:00.000Z' and 'd''Or', 7, 7",
  )
  for (const sql of ['$nobody', `\${name:singlequote}`, '$__interval()'])
    expect(() => expand(sql), sql).toThrow(/no variable|not known/)
  expect(parseStart('now-7d', range.to)).toEqual(new Date('2025-06-24T00:00:00Z'))
  expect(() => parseStart('now', range.to)).toThrow('not a start')
})

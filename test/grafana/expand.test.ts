import { expect, it } from 'vitest'
import { expandQuery, parseStart } from './expand.ts'

const range = { from: new Date('2025-01-01T00:00:00Z'), to: new Date('2025-07-01T00:00:00Z') }
const expand = (sql: string, variables: Record<string, string> = {}) => expandQuery(sql, { variables, range })

it('expand writes a time filter as Grafana does', () => {
  expect(expand('where $__timeFilter(a.at) and b')).toBe(
    "where a.at BETWEEN '2025-01-01T00:00:00.000Z' AND '2025-07-01T00:00:00.000Z' and b",
  )
})

it('expand quotes a variable on request, and not the others', () => {
  const values = { name: "d'Or", id: '7' }
  expect(expand(`\${name:sqlstring}, \${id}, $id`, values)).toBe("'d''Or', 7, 7")
})

it.each(['$nobody', `\${name:singlequote}`, '$__interval()', '$__timeGroup(at, 1d)'])(
  'expand refuses %s, which it does not know',
  (sql) => {
    expect(() => expand(sql, { name: 'x' })).toThrow(/no variable|not known/)
  },
)

it('expand reads the start of a time range', () => {
  expect(parseStart('now-7d', range.to)).toEqual(new Date('2025-06-24T00:00:00Z'))
  expect(() => parseStart('now', range.to)).toThrow('not a start')
})

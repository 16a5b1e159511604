import { describe, expect, it } from 'vitest'
import { type Panel, readDashboards } from './dashboards.ts'

const DATA_SOURCE = { type: 'grafana-postgresql-datasource', uid: 'musette' }
const COLUMNS = 24

const dashboards = await readDashboards()
const panels = dashboards.flatMap((dashboard) =>
  dashboard.panels.map((panel) => ({ panel, name: `${dashboard.title}: ${panel.title}` })),
)

describe('the dashboards', () => {
  it.each(dashboards)(
    'in $file can be read by Grafana, and show each panel of the one data source apart',
    (board) => {
      const { panels: own, text, templating } = board
      // From files: without an id, and of no newer schema.
      for (const member of ['id', 'apiVersion']) expect(board).not.toHaveProperty(member)
      expect([board.schemaVersion, board.time.to]).toEqual([41, 'now'])
      for (const member of ['id', 'title'] as const)
        expect(new Set(own.map((panel) => panel[member])).size, member).toBe(own.length)
      expect(own.filter(({ title, description }) => !title || !description)).toEqual([])
      const outside = own.filter(({ gridPos: { x, w } }) => x < 0 || w < 1 || x + w > COLUMNS)
      const over = own.flatMap((one, index) => own.slice(index + 1).filter((other) => overlaps(one, other)))
      expect([...outside, ...over].map(({ title }) => title)).toEqual([])
      const asking = [...templating.list, ...own, ...own.flatMap(({ targets }) => targets)]
      for (const { datasource } of asking) expect(datasource).toEqual(DATA_SOURCE)
      expect(text.match(/"datasource": ?\{/g)).toHaveLength(asking.length)
    },
  )

  it('link to existing dashboards with their variables', () => {
    const links = dashboards.flatMap(({ text }) =>
      [...text.matchAll(/"url": "(\/d\/[^"]+)"/g)].map(([, url]) => url),
    )
    expect(links.length).toBeGreaterThan(0)
    for (const link of links) {
      const url = new URL(link ?? '', 'http://grafana')
      const board = dashboards.find(({ uid }) => url.pathname === `/d/${uid}`)
      expect(board, link).toBeDefined()
      const variables = board?.templating.list.map(({ name }) => `var-${name}`) ?? []
      expect(variables, link).toEqual(expect.arrayContaining([...url.searchParams.keys()]))
    }
  })
})

it.each(panels)(
  '$name has one query, of the selected account or ride, with quoted variables',
  ({ panel }) => {
    const [target, ...more] = panel.targets
    expect(more).toEqual([])
    const format = panel.type === 'timeseries' ? 'time_series' : 'table'
    expect(target).toMatchObject({ refId: 'A', rawQuery: true, format })
    const rawSql = target?.rawSql ?? ''
    // Samples of one ride at most.
    const rides = rawSql.match(/\bactivity_id = \$\{activity:sqlstring\}/g)?.length ?? 0
    expect(rawSql.match(/training\.samples\b/g)?.length ?? 0).toBeLessThanOrEqual(rides)
    expect(rawSql).toMatch(/\b(account_id|activity_id) = \$\{(account|activity):sqlstring\}/)
    const variables = rawSql.match(/\$\{[^}]*\}|\$(?!__)\w+/g) ?? []
    expect(variables.filter((variable) => !/^\$\{\w+:sqlstring\}$/.test(variable))).toEqual([])
  },
)

function overlaps(one: Panel, other: Panel): boolean {
  const [a, b] = [one.gridPos, other.gridPos]
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
}

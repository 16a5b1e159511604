import { describe, expect, it } from 'vitest'
import { type Panel, readDashboards } from './dashboards.ts'

const DATA_SOURCE = { type: 'grafana-postgresql-datasource', uid: 'musette' }
const COLUMNS = 24

const dashboards = await readDashboards()
const panels = dashboards.flatMap((dashboard) =>
  dashboard.panels.map((panel) => ({ panel, name: `${dashboard.title}: ${panel.title}` })),
)

describe('the dashboards', () => {
  it('are overview, ride, power curve, load and form, and sync health, with unique names', () => {
    expect(dashboards.map(({ uid }) => uid).sort()).toEqual([
      'musette-health',
      'musette-load',
      'musette-overview',
      'musette-power-curve',
      'musette-ride',
    ])
    expect(new Set(dashboards.map(({ title }) => title)).size).toBe(dashboards.length)
  })

  it.each(dashboards)('in $file give each panel a unique number and name, and a description', (board) => {
    const { panels: own } = board
    expect(new Set(own.map(({ id }) => id)).size).toBe(own.length)
    expect(new Set(own.map(({ title }) => title)).size).toBe(own.length)
    expect(own.filter(({ title, description }) => !title || !description)).toEqual([])
  })

  it.each(dashboards)('in $file have no overlapping panel and none beyond the edge', ({ panels: own }) => {
    const outside = own.filter(({ gridPos: { x, w } }) => x < 0 || w < 1 || x + w > COLUMNS)
    const over = own.flatMap((one, index) => own.slice(index + 1).filter((other) => overlaps(one, other)))
    expect([...outside, ...over].map(({ title }) => title)).toEqual([])
  })

  it.each(dashboards)('in $file query the provisioned data source and nothing else', (board) => {
    const asked = [
      ...board.templating.list.map(({ datasource }) => datasource),
      ...board.panels.flatMap((panel) => [
        panel.datasource,
        ...panel.targets.map((target) => target.datasource),
      ]),
    ]
    for (const datasource of asked) expect(datasource).toEqual(DATA_SOURCE)
    const mentioned = [...board.text.matchAll(/"datasource": ?\{/g)]
    expect(mentioned).toHaveLength(asked.length)
  })

  it.each(dashboards)('in $file can be read by Grafana from files: no id, no newer schema', (board) => {
    expect(board).not.toHaveProperty('id')
    expect(board).not.toHaveProperty('apiVersion')
    expect(board.schemaVersion).toBe(41)
    expect(board.time.to).toBe('now')
  })

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

describe('the panel', () => {
  it.each(panels)('$name has one query, typed by hand', ({ panel }) => {
    const [target, ...more] = panel.targets
    expect(more).toEqual([])
    expect(target).toMatchObject({ refId: 'A', rawQuery: true })
    expect(target?.format).toBe(panel.type === 'timeseries' ? 'time_series' : 'table')
  })

  it.each(panels)('$name reads samples of one ride at most', ({ panel }) => {
    for (const { rawSql } of panel.targets) {
      const scans = rawSql.match(/training\.samples\b/g)?.length ?? 0
      const rides = rawSql.match(/\bactivity_id = \$\{activity:sqlstring\}/g)?.length ?? 0
      expect(scans).toBeLessThanOrEqual(rides)
    }
  })

  it.each(panels)('$name belongs to the selected account or ride', ({ panel }) => {
    for (const { rawSql } of panel.targets)
      expect(rawSql).toMatch(/\b(account_id|activity_id) = \$\{(account|activity):sqlstring\}/)
  })

  it.each(panels)('$name quotes variables', ({ panel }) => {
    const variables = panel.targets.flatMap(({ rawSql }) => rawSql.match(/\$\{[^}]*\}|\$(?!__)\w+/g) ?? [])
    expect(variables).not.toEqual([])
    expect(variables.filter((variable) => !/^\$\{\w+:sqlstring\}$/.test(variable))).toEqual([])
  })
})

function overlaps(one: Panel, other: Panel): boolean {
  const [a, b] = [one.gridPos, other.gridPos]
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
}

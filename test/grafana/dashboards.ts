import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../../config/grafana/dashboards/', import.meta.url))

export type DataSource = { type: string; uid: string }
export type Target = {
  refId: string
  datasource: DataSource
  rawQuery: boolean
  format: string
  rawSql: string
}
export type Property = { id: string; value: unknown }
type Override = { matcher: { id: string; options: string }; properties: Property[] }
export type Panel = {
  id: number
  type: string
  title: string
  description: string
  gridPos: { x: number; y: number; w: number; h: number }
  datasource: DataSource
  fieldConfig: { defaults: { unit?: string }; overrides: Override[] }
  options: { xField?: string; series?: { x: { matcher: { options: string } } }[] }
  targets: Target[]
}
type Variable = { type: string; name: string; datasource: DataSource; query: string; refresh: number }
export type Dashboard = {
  file: string
  text: string
  uid: string
  title: string
  schemaVersion: number
  time: { from: string; to: string }
  templating: { list: Variable[] }
  panels: Panel[]
}

/** Reads every dashboard that Grafana is given; throws at one that is no JSON. */
export async function readDashboards(): Promise<Dashboard[]> {
  const files = (await readdir(FOLDER)).sort()
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(`${FOLDER}${file}`, 'utf8')
      return { ...(JSON.parse(text) as Omit<Dashboard, 'file' | 'text'>), file, text }
    }),
  )
}

/** Finds the unit that Grafana takes for a column: the override of its name, else the panel's own. */
export function unitOf(panel: Panel, column: string): unknown {
  const properties = panel.fieldConfig.overrides
    .filter(({ matcher }) => matcher.id === 'byName' && matcher.options === column)
    .flatMap((override) => override.properties)
  return properties.find(({ id }) => id === 'unit')?.value ?? panel.fieldConfig.defaults.unit
}

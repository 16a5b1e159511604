import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../../config/grafana/dashboards/', import.meta.url))

type Sourced = { datasource: { type: string; uid: string } }
type Target = Sourced & { refId: string; rawQuery: boolean; format: string; rawSql: string }
type Override = {
  matcher: { id: string; options: string }
  properties: ReadonlyArray<{ id: string; value: unknown }>
}
export type Panel = Sourced & {
  id: number
  type: string
  title: string
  description: string
  gridPos: Record<'x' | 'y' | 'w' | 'h', number>
  fieldConfig: { defaults: { unit?: string }; overrides: Override[] }
  options: { xField?: string; series?: { x: { matcher: { options: string } } }[] }
  targets: Target[]
}
export type Dashboard = Record<'file' | 'text' | 'uid' | 'title', string> & {
  schemaVersion: number
  time: { from: string; to: string }
  templating: { list: Array<Sourced & { name: string; query: string }> }
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

import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { readDashboards } from './dashboards.ts'

type Service = Record<'image', string> &
  Record<'profiles' | 'secrets' | 'ports' | 'volumes', string[]> & { environment: Record<string, string> }
type Compose = {
  services: Record<string, Service>
  secrets: Record<string, { file: string }>
  volumes: Record<string, unknown>
}
type DataSource = Record<'uid' | 'type' | 'url' | 'user', string> & {
  secureJsonData: { password: string }
  jsonData: Record<string, unknown>
}

const root = fileURLToPath(new URL('../../', import.meta.url))
const readYaml = async <T>(path: string) => parse(await readFile(`${root}${path}`, 'utf8')) as T

const compose = await readYaml<Compose>('docker-compose.yml')
const grafana = compose.services.grafana as Service
const { datasources } = await readYaml<{ datasources: DataSource[] }>(
  'config/grafana/provisioning/datasources/musette.yaml',
)
const { providers } = await readYaml<{ providers: { type: string; options: { path: string } }[] }>(
  'config/grafana/provisioning/dashboards/musette.yaml',
)

/** Where each folder of the project stands in the container. */
const mounts = new Map(
  grafana.volumes.map((volume) => {
    const [source = '', place = '', mode = ''] = volume.split(':')
    return [place, { source, mode }]
  }),
)

it('Grafana runs only on request, on this machine, with our folders read-only and each password from a file', async () => {
  expect(grafana.profiles).toEqual(['grafana'])
  expect(grafana.image).toMatch(/^grafana\/grafana:\d+\.\d+/)
  expect(grafana.ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
  const folders = [...mounts].filter(([, { source }]) => source.startsWith('./'))
  expect(folders.map(([place]) => place).sort()).toEqual([
    '/etc/grafana/musette',
    '/etc/grafana/provisioning/dashboards',
    '/etc/grafana/provisioning/datasources',
  ])
  for (const [place, { source, mode }] of folders) {
    expect(await readdir(`${root}${source}`), place).not.toEqual([])
    expect(mode, place).toBe('ro')
  }
  expect(compose.volumes).toHaveProperty(mounts.get('/var/lib/grafana')?.source ?? '')
  const files = [
    grafana.environment.GF_SECURITY_ADMIN_PASSWORD__FILE,
    ...datasources.map(({ secureJsonData }) => /^\$__file\{(.+)\}$/.exec(secureJsonData.password)?.[1]),
  ]
  expect(files).toEqual(grafana.secrets.map((secret) => `/run/secrets/${secret}`))
  for (const secret of grafana.secrets) expect(compose.secrets[secret]?.file).toBe(`./secrets/${secret}`)
})

it('its provisioning has the dashboards, their data source on the Postgres of the compose file, and opens with the overview', async () => {
  expect(datasources).toHaveLength(1)
  const [{ uid, type, url, user, jsonData } = {} as DataSource] = datasources
  const dashboards = await readDashboards()
  for (const { datasource } of dashboards.flatMap(({ panels }) => panels))
    expect(datasource).toEqual({ uid, type })
  const postgres = compose.services.postgres as Service
  expect([url, jsonData.database]).toEqual(['postgres:5432', postgres.environment.POSTGRES_DB])
  expect(user).not.toBe(postgres.environment.POSTGRES_USER)
  const path = providers[0]?.options.path ?? ''
  expect(mounts.get(path)?.source).toBe('./config/grafana/dashboards')
  const home = grafana.environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH ?? ''
  expect(dashboards.map(({ file }) => `${path}/${file}`)).toContain(home)
})

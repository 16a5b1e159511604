import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readDashboards } from './dashboards.ts'

type Compose = {
  services: Record<string, Service>
  secrets: Record<string, { file: string }>
  volumes: Record<string, unknown>
}
type Service = {
  profiles?: string[]
  image: string
  environment: Record<string, string>
  secrets: string[]
  ports: string[]
  volumes: string[]
}
type DataSource = {
  uid: string
  type: string
  url: string
  user: string
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

describe('Grafana in a container', () => {
  it('runs only on request, and answers only on this machine', () => {
    expect(grafana.profiles).toEqual(['grafana'])
    expect(grafana.image).toMatch(/^grafana\/grafana:\d+\.\d+/)
    expect(grafana.ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
  })

  it('gets the data source and the dashboards of this project, read-only', async () => {
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
  })

  it('keeps what it stores in a volume that is declared', () => {
    expect(compose.volumes).toHaveProperty(mounts.get('/var/lib/grafana')?.source ?? '')
  })

  it('takes every password from a file', () => {
    const files = [
      grafana.environment.GF_SECURITY_ADMIN_PASSWORD__FILE,
      ...datasources.map(({ secureJsonData }) => /^\$__file\{(.+)\}$/.exec(secureJsonData.password)?.[1]),
    ]
    expect(files).toEqual(grafana.secrets.map((secret) => `/run/secrets/${secret}`))
    for (const secret of grafana.secrets) expect(compose.secrets[secret]?.file).toBe(`./secrets/${secret}`)
  })
})

describe('the provisioning', () => {
  it('has the data source of the dashboards, on the Postgres of the compose file', async () => {
    expect(datasources).toHaveLength(1)
    const [{ uid, type, url, user, jsonData } = {} as DataSource] = datasources
    for (const { panels } of await readDashboards()) {
      for (const { datasource } of panels) expect(datasource).toEqual({ uid, type })
    }
    const postgres = compose.services.postgres as Service
    expect(url).toBe('postgres:5432')
    expect(jsonData.database).toBe(postgres.environment.POSTGRES_DB)
    expect(user).not.toBe(postgres.environment.POSTGRES_USER)
  })

  it('finds the dashboards of the compose file, and opens with the overview', async () => {
    const [provider] = providers
    expect(mounts.get(provider?.options.path ?? '')?.source).toBe('./config/grafana/dashboards')
    const home = grafana.environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH ?? ''
    const files = (await readDashboards()).map(({ file }) => `${provider?.options.path}/${file}`)
    expect(files).toContain(home)
  })
})

import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { KNOWN } from '../kit/config.ts'
import { readTop } from './dockerfile.ts'

const list = z.array(z.string()).default([])
const values = z.record(z.string(), z.string()).default({})
const mount = z.union([
  z.string().transform((text) => ({ source: text.split(':')[0] ?? '', target: text.split(':')[1] ?? '' })),
  z.object({ source: z.string(), target: z.string() }),
])

/** The members of a service that the tests check; other members pass through. */
const service = z.looseObject({
  ...{ image: z.string().optional(), build: z.string().optional(), command: list, profiles: list },
  ...{ environment: values, secrets: list, ports: list, volumes: z.array(mount).default([]) },
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
})

const compose = z
  .object({
    services: z.record(z.string(), service),
    secrets: z.record(z.string(), z.object({ file: z.string() })),
    volumes: z.record(z.string(), z.null()),
  })
  .parse(parse(readTop('docker-compose.yml'), { merge: true }))
const services = Object.entries(compose.services)
const isOurs = (image: string | undefined) => /^\$\{MUSETTE_IMAGE:-musette\}$/.test(image ?? '')
const ours = services.filter(([, { image }]) => isOurs(image))
const of = (name: string) => compose.services[name] as z.output<typeof service>

describe('the compose file', () => {
  it('runs our programs without capabilities, on a read-only root, under an init', () => {
    expect(readTop('Dockerfile')).toMatch(/^USER 1000:1000$/m)
    expect(ours.map(([name]) => name).sort()).toEqual(['musette', 'worker'])
    for (const [name, service] of ours) expect(service, name).toMatchObject({ init: true, read_only: true })
    for (const [name, service] of services) {
      expect(service, name).toMatchObject({ cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
      for (const key of ['privileged', 'cap_add', 'network_mode', 'pid'])
        expect(service, name).not.toHaveProperty(key)
    }
  })

  it('reads .env in a form that every Compose 2 supports', () => {
    for (const [name, service] of ours) expect(service.env_file, name).toBe('.env')
  })

  it('builds one image for our programs, pins the others, and gives time to stop', () => {
    expect(services.flatMap(([name, { build }]) => (build ? [name, build] : []))).toEqual(['musette', '.'])
    for (const [name, { image }] of services)
      if (!isOurs(image)) expect(image, name).toMatch(/^[\w./-]+:\d+(\.\d+)*(-\w+)?$/)
    const [, within] =
      /STOP_WITHIN_MS = (\d+) \* SECOND/.exec(readTop('src/program/cli/verbs/start.ts')) ?? []
    for (const [name, { stop_grace_period: given }] of ours)
      expect(Number.parseInt(String(given), 10), name).toBeGreaterThan(Number(within))
  })

  it('starts services in order, and keeps the data of musette, Postgres 18 and Redis', () => {
    const healthy = { condition: 'service_healthy' }
    for (const [name, { depends_on, environment }] of ours) {
      expect(depends_on, name).toEqual({ postgres: healthy, redis: healthy })
      expect(environment, name).toMatchObject({ MUSETTE_MIGRATE: 'on-start' })
    }
    expect(of('redis').command.join(' ')).toMatch(/--appendonly yes.*--maxmemory-policy noeviction/)
    expect(of('postgres').image).toMatch(/^postgres:18/)
    for (const [name, { volumes }] of ours)
      expect(volumes, name).toContainEqual({ source: 'musette', target: '/data' })
    expect(readTop('Dockerfile')).toContain('MUSETTE_DATA_DIR=/data')
    expect(of('postgres').volumes).toEqual([{ source: 'postgres', target: '/var/lib/postgresql' }])
  })

  it('requires a password for Redis that no process list shows', () => {
    const { command, healthcheck } = of('redis')
    expect(command.slice(0, 2)).toEqual(['redis-server', '/run/secrets/redis_settings'])
    expect(JSON.stringify(healthcheck)).not.toContain('--pass')
    expect(of('musette').environment).toMatchObject({ REDIS_URL_FILE: '/run/secrets/redis_url' })
  })

  it('is open to this machine only, and requires a token for other machines', () => {
    const ports = services.flatMap(([, service]) => service.ports)
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
    expect(of('musette').environment).toMatchObject({
      MUSETTE_HTTP: '0.0.0.0:8787',
      MUSETTE_HTTP_TOKEN_FILE: '/run/secrets/http_token',
    })
    expect(of('musette').ports).toEqual(['127.0.0.1:8787:8787'])
  })

  it('sets only variables that musette reads, and secrets only by file', () => {
    const secret = KNOWN.fromFile.filter((name) => /URL$|SECRET|TOKEN/.test(name) && !/BASE/.test(name))
    const allowed = KNOWN.names.filter((name) => !secret.some((one) => one === name))
    for (const [name, { environment }] of ours) {
      // An empty variable counts as not set.
      const set = Object.keys(environment).filter((variable) => environment[variable] !== '')
      expect(allowed, name).toEqual(expect.arrayContaining(set))
    }
  })
})

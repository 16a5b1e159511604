import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { ROLES } from '../../src/program/daemon/roles.ts'
import { KNOWN } from '../kit/config.ts'
import { distPath, runNode } from '../kit/processes.ts'
import { readTop } from './dockerfile.ts'

const list = z.array(z.string()).default([])
const values = z.record(z.string(), z.string()).default({})

/** What the tests look at of a service; the rest is handed on as it is. */
const service = z.looseObject({
  image: z.string().optional(),
  build: z.string().optional(),
  command: list,
  restart: z.string(),
  profiles: list,
  environment: values,
  secrets: list,
  ports: list,
  volumes: z
    .array(
      z.union([
        z
          .string()
          .transform((text) => ({ source: text.split(':')[0] ?? '', target: text.split(':')[1] ?? '' })),
        z.object({ source: z.string(), target: z.string() }),
      ]),
    )
    .default([]),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
})

const project = z.object({
  name: z.string(),
  services: z.record(z.string(), service),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
  volumes: z.record(z.string(), z.null()),
})

type Service = z.output<typeof service>

/** Reads docker-compose.yml with its anchors put in, and checks that it has the shape these tests understand. */
function readCompose(): z.output<typeof project> {
  const text = readFileSync(fileURLToPath(new URL('../../docker-compose.yml', import.meta.url)), 'utf8')
  return project.parse(parse(text, { merge: true }))
}

const compose = readCompose()
const services = Object.entries(compose.services)
const isOurs = (image: string | undefined) => /^\$\{MUSETTE_IMAGE:-musette\}$/.test(image ?? '')
const ours = services.filter(([, { image }]) => isOurs(image))
const of = (name: string): Service => compose.services[name] as Service

describe('the compose file', () => {
  it('runs all our programs without capabilities, on a read-only root, under an init', () => {
    expect(ours.map(([name]) => name).sort()).toEqual(['musette', 'worker'])
    for (const [name, service] of ours) expect(service, name).toMatchObject({ init: true, read_only: true })
    for (const [name, service] of services) {
      expect(service, name).toMatchObject({ cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
      for (const key of ['privileged', 'cap_add', 'network_mode', 'pid'])
        expect(service, name).not.toHaveProperty(key)
    }
  })

  it('gives all our programs enough time to stop', () => {
    const [, given] = /STOP_WITHIN_MS = (\d+) \* SECOND/.exec(readTop('src/program/cli/verbs/start.ts')) ?? []
    for (const [name, service] of ours) {
      expect(Number.parseInt(String(service.stop_grace_period), 10), name).toBeGreaterThan(Number(given))
    }
  })

  it('builds one image for all our programs, and names a version for each other image', () => {
    expect(services.filter(([, { build }]) => build !== undefined).map(([name]) => name)).toEqual(['musette'])
    expect(of('musette').build).toBe('.')
    for (const [name, { image }] of services)
      if (!isOurs(image)) expect(image, name).toMatch(/^[\w./-]+:\d+(\.\d+)*(-\w+)?$/)
  })

  it('starts in order: database and Redis until they answer, then musette', () => {
    const { depends_on } = of('musette')
    expect(depends_on).toEqual({
      postgres: { condition: 'service_healthy' },
      redis: { condition: 'service_healthy' },
    })
    expect(of('worker').depends_on).toEqual(depends_on)
    for (const [name, { environment }] of ours)
      expect(environment, name).toMatchObject({ MUSETTE_MIGRATE: 'on-start' })
    for (const name of ['postgres', 'redis']) expect(of(name), name).toHaveProperty('healthcheck.test')
  })

  it('makes Redis write jobs to disk and evict none', () => {
    const settings = of('redis').command.join(' ')
    expect(settings).toContain('--appendonly yes')
    expect(settings).toContain('--maxmemory-policy noeviction')
  })

  it('requires a password for Redis, and shows it in no process list', () => {
    const { command, healthcheck } = of('redis') as Service & { healthcheck: { test: string[] } }
    expect(command.slice(0, 2)).toEqual(['redis-server', '/run/secrets/redis_settings'])
    expect(healthcheck.test.join(' ')).not.toContain('--pass')
    expect(of('musette').environment).toMatchObject({ REDIS_URL_FILE: '/run/secrets/redis_url' })
  })

  it('puts the data of Postgres 18 where that version keeps it', () => {
    expect(of('postgres').image).toMatch(/^postgres:18/)
    expect(of('postgres').volumes).toEqual([{ source: 'postgres', target: '/var/lib/postgresql' }])
  })

  it('is open to this machine only, and requires a token beyond', () => {
    const ports = services.flatMap(([, service]) => service.ports)
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
    expect(of('musette').environment).toMatchObject({
      MUSETTE_HTTP: '0.0.0.0:8787',
      MUSETTE_HTTP_TOKEN_FILE: '/run/secrets/http_token',
    })
    expect(of('musette').ports).toEqual(['127.0.0.1:8787:8787'])
    expect(of('worker').environment).not.toHaveProperty('MUSETTE_HTTP')
  })

  it('gives extra workers the key, the folders and a working health check', () => {
    expect(of('worker').profiles).toEqual(['workers'])
    expect(of('worker').volumes).toEqual(of('musette').volumes)
    expect(of('worker').ports).toEqual([])
    const roles = of('worker').command.at(-1)?.split(',') ?? []
    expect(roles).toEqual(['worker', 'web'])
    expect(roles.filter((role) => !(ROLES as readonly string[]).includes(role))).toEqual([])
  })
})

describe('the lines of docs/compose.md', () => {
  const section = readTop('docs/compose.md')

  it('make every secret and every folder that the services without a profile need', () => {
    const needed = services.filter(([, { profiles }]) => profiles.length === 0).map(([, service]) => service)
    for (const secret of needed.flatMap(({ secrets }) => secrets))
      expect(section).toContain(`> secrets/${secret}\n`)
    const folders = needed.flatMap(({ volumes }) => volumes).filter(({ source }) => source.startsWith('./'))
    for (const { source } of folders)
      expect(section).toMatch(new RegExp(`mkdir [^&\n]*${source.slice(2)}\\b`))
  })

  it('type verbs that exist', async () => {
    const verbs = [...section.matchAll(/docker compose run --rm (?:-T )?musette (\w+)/g)].map(
      ([, verb]) => verb ?? '',
    )
    expect(verbs).toContain('login')
    for (const verb of verbs) {
      expect(await runNode([distPath('main.js'), verb, '--help']), verb).toMatchObject({ code: 0 })
    }
  })
})

describe('the compose file, held against the code,', () => {
  it('sets only variables that musette reads, and secrets only by file', () => {
    const known = KNOWN.names
    const secret = KNOWN.fromFile.filter((name) => /URL$|SECRET|TOKEN/.test(name) && !/BASE/.test(name))
    for (const [name, { environment }] of ours) {
      // An empty one counts as not set.
      const set = Object.keys(environment).filter((variable) => environment[variable] !== '')
      expect(
        set.filter((variable) => !known.includes(variable)),
        name,
      ).toEqual([])
      expect(
        set.filter((variable) => secret.some((one) => one === variable)),
        name,
      ).toEqual([])
    }
  })

  it('uses every secret it declares and declares every one it uses, in a folder that stays out of git and of the image', () => {
    const used = services.flatMap(([, service]) => service.secrets)
    expect([...new Set(used)].sort()).toEqual(Object.keys(compose.secrets).sort())
    for (const { file } of Object.values(compose.secrets)) expect(file).toMatch(/^\.\/secrets\/\w+$/)
    for (const [name, { environment, secrets }] of services) {
      const named = Object.values(environment).flatMap(
        (value) => /^\/run\/secrets\/(.+)$/.exec(value)?.[1] ?? [],
      )
      expect(secrets, name).toEqual(expect.arrayContaining(named))
    }
    expect(readTop('.gitignore').split('\n')).toEqual(expect.arrayContaining(['secrets/', '.env']))
  })

  it('mounts declared volumes and folders of the user, never folders made by root', () => {
    const mounts = services.flatMap(([, service]) => service.volumes)
    const volumes = mounts.map(({ source }) => source).filter((source) => !source.startsWith('./'))
    expect([...new Set(volumes)].sort()).toEqual(Object.keys(compose.volumes).sort())
    const folders = mounts.map(({ source }) => source).filter((source) => source.startsWith('./'))
    for (const folder of new Set(folders)) {
      const isTheirs = ['./drop', './workouts'].includes(folder)
      expect(isTheirs || existsSync(new URL(`../../${folder}`, import.meta.url)), folder).toBe(true)
    }
    expect(readTop('docker-compose.yml').match(/source: \.\/.*$/gm)).toEqual([
      expect.stringContaining('create_host_path: false'),
      expect.stringContaining('create_host_path: false'),
    ])
  })

  it('puts every folder inside the container where musette looks for it', () => {
    const { environment, volumes } = of('musette')
    const targets = volumes.map(({ target }) => target)
    for (const name of ['MUSETTE_DROP_DIR', 'MUSETTE_WORKOUT_DIR'])
      expect(targets).toContain(environment[name])
    expect(targets).toContain('/data')
    expect(readTop('Dockerfile')).toContain('MUSETTE_DATA_DIR=/data')
  })
})

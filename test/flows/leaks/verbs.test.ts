import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { eachAtOnce } from '../../../src/kit/semaphore.ts'
import { openForAll } from '../../kit/open-for.ts'
import { makeRide } from '../../kit/ride.ts'
import { sample } from '../../kit/sampling.ts'
import { DATA, ECHOES, type Echo, TOKEN, unauthorized } from './hostile.ts'
import { findLeaks, SECRETS } from './marked.ts'
import { openLeakRig } from './rig.ts'

vi.setConfig({ testTimeout: 240_000 })
const LOGIN = ['login', 'other', '--username', 'marked', '--password-stdin']
const WITH_SECRET = { MUSETTE_CLIENT_SECRET: SECRETS.clientSecret }
const { refusal, ...OTHER_ECHOES } = ECHOES
/** All kinds of echoes, or without WHOLE a random sample. */
const SOME_ECHOES: readonly Echo[] = [refusal, ...sample(Object.values(OTHER_ECHOES), 3)]

type Pair = [string, string]

const rig = openForAll(openLeakRig)
beforeAll(async () => expect(await rig.signIn()).toMatchObject({ code: 0 }))
afterEach(async () => {
  rig.hostile.become([])
  expect(findLeaks(rig.said(), await rig.tokens())).toEqual([])
})

describe('no secret leaks from a verb', () => {
  it('whose secrets are repeated by the data endpoints', async () => {
    for (const echo of SOME_ECHOES) {
      // A verb waits while the rate limit is repeated, so the limit ends by itself here.
      const times = echo === ECHOES.limit ? 1 : Number.POSITIVE_INFINITY
      rig.hostile.become([{ path: DATA, echo, times }])
      await rig.musette(['sync'])
      expect(rig.hostile.answers()).toBeGreaterThan(0)
    }
  })

  it('whose secrets are repeated by the token endpoint', async () => {
    for (const echo of SOME_ECHOES) {
      rig.hostile.become([])
      await rig.signIn()
      rig.hostile.become([
        { path: TOKEN, echo },
        { path: DATA, echo: unauthorized },
      ])
      const login = rig.musette(LOGIN, { input: SECRETS.password, env: WITH_SECRET })
      for (const { code } of await Promise.all([rig.musette(['sync']), login])) expect(code).not.toBe(0)
    }
    // Proves that the service received every secret and could have repeated it.
    const repeated = rig.hostile.repeated()
    for (const secret of [SECRETS.password, SECRETS.clientSecret]) expect(repeated).toContain(secret)
    expect((await rig.tokens()).filter((token) => repeated.includes(token)).length).toBeGreaterThan(2)
  })

  it('that is refused, or gets a wrong password, secret or code', async () => {
    expect(await rig.musette(LOGIN, { input: SECRETS.wrongPassword })).toMatchObject({ code: 3 })
    const wrongSecret = await rig.musette(LOGIN, { input: SECRETS.password, env: WITH_SECRET })
    expect(wrongSecret).toMatchObject({ code: 3 })
    const client = ['--client-id', 'demo_app', '--client-secret', SECRETS.clientSecret]
    const input = `http://127.0.0.1:8976/callback?state=x&code=${SECRETS.code}\n`
    expect((await rig.musette(['login', 'other', '--paste', ...client], { input })).code).not.toBe(0)
  })

  it('whose upload is refused with a response that repeats its secrets', async () => {
    await rig.signIn()
    const file = join(rig.dataDir, 'ride.fit')
    await writeFile(file, makeRide())
    for (const status of [422, 200]) {
      const echo: Echo = (said) => ({ status, body: { success: false, error: said } })
      rig.hostile.become([{ path: /^\/oauth\/upload$/, echo }])
      expect(await rig.musette(['upload', file, '--force'])).toMatchObject({ code: 5 })
    }
  })

  it('that cannot reach or use its database or its queue', async () => {
    const changed = (url: string, change: Partial<Record<'port' | 'pathname' | 'password', string>>) =>
      Object.assign(new URL(url), change).href
    const redisUrl = rig.redisUrl ?? `redis://:${SECRETS.redisPassword}@127.0.0.1:1`
    const wrong = { password: SECRETS.wrongPassword }
    const wrongKey = Buffer.from(`key!${SECRETS.wrongPassword}`.padEnd(32).slice(0, 32)).toString('base64')
    const environments: Array<Record<string, string>> = [
      { DATABASE_URL: changed(rig.databaseUrl, { port: '1' }) },
      { DATABASE_URL: changed(rig.databaseUrl, wrong) },
      { DATABASE_URL: changed(rig.databaseUrl, { pathname: '/none' }) },
      { DATABASE_URL: `postgres://marked:${SECRETS.databasePassword}@[::1:5432/x` },
      { REDIS_URL: changed(redisUrl, { port: '1' }) },
      // With DEBUG, libraries write their commands to standard error.
      { REDIS_URL: changed(redisUrl, wrong), DEBUG: '*' },
      { MUSETTE_SECRET_KEY: wrongKey },
    ]
    await eachAtOnce(environments, 3, async (env) => {
      const failing = await rig.musette([env.DATABASE_URL ? 'status' : 'start'], { env })
      expect(failing.code).not.toBe(0)
      await rig.musette(['doctor', '--json'], { env })
    })
  })

  it('that reports everything', async () => {
    const sql = ['sql', 'select * from training.accounts']
    for (const args of [['doctor'], ['status', '--json'], ['accounts', '--json'], ['logout', 'nobody'], sql])
      await rig.musette(args)
  })

  it('that the bug report form asks for', async () => {
    await rig.signIn()
    const [file, report] = ['webhooks.json', 'report.json'].map((name) => join(rig.dataDir, name)) as Pair
    const url = `http://127.0.0.1:9/${SECRETS.address}`
    const phone = { name: 'phone', style: 'ntfy', url, token: SECRETS.wrongPassword }
    await writeFile(file, JSON.stringify([phone]), { mode: 0o600 })
    const env = {
      MUSETTE_WEBHOOKS: file,
      MUSETTE_HEARTBEAT_URL: url,
      MUSETTE_MQTT_URL: 'mqtt://marked@127.0.0.1:9',
      MUSETTE_MQTT_PASSWORD: SECRETS.wrongPassword,
      HTTPS_PROXY: `http://marked:${SECRETS.wrongPassword}@127.0.0.1:9`,
      MUSETTE_CLIENT_SECRET: SECRETS.clientSecret,
      ...(rig.redisUrl && { REDIS_URL: rig.redisUrl }),
    }
    const doctor = await rig.musette(['doctor', '--json'], { env })
    expect(JSON.parse(doctor.stdout).findings.length).toBeGreaterThan(20)
    expect(await rig.musette(['verify', '--report', report], { env })).toMatchObject({ code: 0 })
    expect(findLeaks(await readFile(report, 'utf8'), await rig.tokens())).toEqual([])
  })
})

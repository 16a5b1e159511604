import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { makeRide } from '../../kit/ride.ts'
import type { Echo } from './hostile.ts'
import { DATA, ECHOES, TOKEN, unauthorized } from './hostile.ts'
import { findLeaks, SECRETS } from './marked.ts'
import { type LeakRig, openLeakRig } from './rig.ts'

let rig: LeakRig
beforeAll(async () => {
  rig = await openLeakRig()
  expect(await rig.signIn()).toMatchObject({ code: 0 })
})
afterAll(() => rig.close())
afterEach(() => rig.hostile.become([]))

async function expectNoLeak(text: string): Promise<void> {
  expect(findLeaks(text, await rig.tokens())).toEqual([])
}

describe('no secret gets out of a verb', () => {
  it('whose secrets the data endpoints repeat', async () => {
    await rig.signIn()
    for (const echo of Object.values(ECHOES)) {
      // A limit is waited out for as long as it is repeated, so it ends here by itself.
      const times = echo === ECHOES.limit ? 1 : Number.POSITIVE_INFINITY
      rig.hostile.become([{ path: DATA, echo, times }])
      await rig.musette(['sync'])
      expect(rig.hostile.answers()).toBeGreaterThan(0)
    }
    await expectNoLeak(rig.said())
  }, 240_000)

  it('whose secrets the token endpoint repeats', async () => {
    const login = ['login', 'other', '--username', 'marked', '--password-stdin']
    const env = { MUSETTE_CLIENT_SECRET: SECRETS.clientSecret }
    for (const echo of Object.values(ECHOES)) {
      rig.hostile.become([])
      await rig.signIn()
      rig.hostile.become([
        { path: TOKEN, echo },
        { path: DATA, echo: unauthorized },
      ])
      const verbs = [rig.musette(['sync']), rig.musette(login, { input: SECRETS.password, env })]
      for (const { code } of await Promise.all(verbs)) expect(code).not.toBe(0)
    }
    // The proof that every one of them was told, and so could have been repeated in turn.
    const repeated = rig.hostile.repeated()
    for (const secret of [SECRETS.password, SECRETS.clientSecret]) expect(repeated).toContain(secret)
    expect((await rig.tokens()).filter((token) => repeated.includes(token)).length).toBeGreaterThan(2)
    await expectNoLeak(rig.said())
  }, 240_000)

  it('that is refused, or is given a wrong password, secret or code', async () => {
    rig.hostile.become([])
    const login = ['login', 'other', '--username', 'marked', '--password-stdin']
    expect(await rig.musette(login, { input: SECRETS.wrongPassword })).toMatchObject({ code: 3 })
    const env = { MUSETTE_CLIENT_SECRET: SECRETS.clientSecret }
    expect(await rig.musette(login, { input: SECRETS.password, env })).toMatchObject({ code: 3 })
    const paste = [
      'login',
      'other',
      '--paste',
      '--client-id',
      'demo_app',
      '--client-secret',
      SECRETS.clientSecret,
    ]
    const input = `http://127.0.0.1:8976/callback?state=x&code=${SECRETS.code}\n`
    expect((await rig.musette(paste, { input })).code).not.toBe(0)
    await expectNoLeak(rig.said())
  }, 120_000)

  it('whose upload is refused with an answer that repeats its secrets', async () => {
    await rig.signIn()
    const file = join(rig.dataDir, 'ride.fit')
    await writeFile(file, makeRide())
    for (const status of [422, 200]) {
      const echo: Echo = (said) => ({ status, body: { success: false, error: said } })
      rig.hostile.become([{ path: /^\/oauth\/upload$/, echo }])
      expect(await rig.musette(['upload', file, '--force'])).toMatchObject({ code: 5 })
    }
    await expectNoLeak(rig.said())
  }, 120_000)

  it('that cannot reach or use its database or its queue', async () => {
    const broken = (url: string, change: (parsed: URL) => void) => {
      const parsed = new URL(url)
      change(parsed)
      return parsed.href
    }
    const redisUrl = rig.redisUrl ?? `redis://:${SECRETS.redisPassword}@127.0.0.1:1`
    const away = (url: URL) => {
      url.port = '1'
    }
    const none = (url: URL) => {
      url.pathname = '/none'
    }
    const wrong = (url: URL) => {
      url.password = SECRETS.wrongPassword
    }
    const environments: Array<Record<string, string>> = [
      { DATABASE_URL: broken(rig.databaseUrl, away) },
      { DATABASE_URL: broken(rig.databaseUrl, wrong) },
      { DATABASE_URL: broken(rig.databaseUrl, none) },
      { DATABASE_URL: `postgres://marked:${SECRETS.databasePassword}@[::1:5432/x` },
      { REDIS_URL: broken(redisUrl, away) },
      // Libraries write the commands that they send to standard error.
      { REDIS_URL: broken(redisUrl, wrong), DEBUG: '*' },
      {
        MUSETTE_SECRET_KEY: Buffer.from(`key!${SECRETS.wrongPassword}`.padEnd(32).slice(0, 32)).toString(
          'base64',
        ),
      },
    ]
    const fail = async (env: Record<string, string>) => {
      const failing = [['start'], ...(env.DATABASE_URL ? [['status']] : [])]
      const verbs = failing.map((verb) => rig.musette(verb, { env }))
      const reporting = rig.musette(['doctor', '--json'], { env })
      for (const { code } of await Promise.all(verbs)) expect(code).not.toBe(0)
      await reporting
    }
    // Most of them wait for a server that does not come.
    await Promise.all(environments.map(fail))
    await expectNoLeak(rig.said())
  }, 240_000)

  it('that is configured wrongly or reports everything', async () => {
    const marked = SECRETS.wrongPassword
    const env = {
      DATABASE_URL: `mysql://${marked}`,
      REDIS_URL: `:${marked}`,
      MUSETTE_SECRET_KEY: marked,
      MUSETTE_BASE_URL: `http://rider:${marked}@127.0.0.1`,
      MUSETTE_HTTP_TOKEN: marked.slice(0, 15),
      MUSETTE_HTTP: `0.0.0.0:${marked}`,
      MUSETTE_POLL_EVERY: marked,
    }
    expect(await rig.musette(['sync'], { env })).toMatchObject({ code: 2 })
    await rig.musette(['doctor'], { env })
    const reports = [
      ['doctor'],
      ['status', '--json'],
      ['accounts', '--json'],
      ['logout', 'nobody'],
      ['sql', 'select * from training.accounts'],
    ]
    await Promise.all(reports.map((args) => rig.musette(args)))
    await expectNoLeak(rig.said())
  }, 120_000)
})

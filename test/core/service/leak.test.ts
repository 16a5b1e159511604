import { inspect } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { openService } from '../../../src/core/service/service.ts'
import { makeCredentials, makeMemoryVault } from './memory-vault.ts'
import {
  makeTestClock,
  makeTestLog,
  openTestService,
  type Reply,
  type SentRequest,
} from './open-test-service.ts'
import { openRawServer } from './servers.ts'

// Every secret holds this word, and the service echoes it wherever an answer has room for it.
const SECRET = 'sEcReT'
const ACCOUNT_SECRETS = {
  accessToken: `access-${SECRET}`,
  refreshToken: `refresh-${SECRET}`,
  clientSecret: `client-${SECRET}`,
  username: 'rider',
  password: `password-${SECRET}`,
}
const echo = `old access-${SECRET} refresh-${SECRET}`

const closers: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** Everything a log, a table cell or a person could get to see of an error: text, fields, stack and causes. */
function everythingOf(error: unknown): string {
  const { log, lines } = makeTestLog()
  log.error({ error }, 'failed')
  return `${inspect(error, { depth: 10, showHidden: true })} ${lines.join('')} ${String(error)}`
}

const REPLIES: Array<[string, Reply | Error]> = [
  ['a refusal', { status: 400, body: { error: 'invalid_grant', error_description: echo } }],
  ['an unknown refusal', { status: 403, body: { error: echo } }],
  ['a refused client', { status: 401, body: { error: 'invalid_client', error_description: echo } }],
  ['a limit', { status: 429, body: echo, headers: { 'retry-after': echo } }],
  ['a failure', { status: 500, body: echo }],
  ['success false', { body: { success: false, message: echo, error: echo } }],
  ['broken JSON', { body: `{"success":true,"access_token":"${echo}` }],
  ['JSON that a parser would quote', { body: `{"success":true,"a":${SECRET}}` }],
  ['text', { body: echo }],
  ['an HTML page', { body: `<html>${echo}</html>`, headers: { 'content-type': `text/html; x="${echo}"` } }],
  [
    'an odd shape',
    { body: { success: true, activities: echo, workouts: echo, workout: echo, access_token: ` ${echo}` } },
  ],
  ['a redirect away', { status: 302, headers: { location: `https://elsewhere.test/?token=${SECRET}` } }],
  ['a redirect in a circle', { status: 302, headers: { location: `/again?token=${SECRET}` } }],
  ['a redirect to nowhere', { status: 302, headers: { location: `https://${SECRET} ` } }],
  ['a lost connection', Object.assign(new Error(`socket ${echo}`), { code: 'ECONNRESET', data: echo })],
]

function isToken(requests: SentRequest): boolean {
  return requests.path === '/oauth/token'
}

describe.each(REPLIES)('no secret gets out through %s', (_name, reply) => {
  const errors: unknown[] = []
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    await work().catch((error: unknown) => void errors.push(error))
  }

  it.each([
    ['from the data endpoints', () => reply],
    [
      'from the token endpoint',
      (requests: SentRequest) => (isToken(requests) ? reply : { status: 401, body: echo }),
    ],
    [
      'from the data endpoints after a refresh',
      (requests: SentRequest) => (isToken(requests) ? { status: 401, body: echo } : reply),
    ],
  ])('%s', async (_where, answer) => {
    const clock = makeTestClock()
    const vault = makeMemoryVault({ 1: makeCredentials(clock.now(), ACCOUNT_SECRETS) })
    const { service, lines, vault: kept } = openTestService(answer, { vault })
    const client = {
      baseUrl: 'https://service.test',
      clientId: 'app',
      clientSecret: ACCOUNT_SECRETS.clientSecret,
    }
    const account = service.forAccount({ accountId: 1, name: 'default', baseUrl: client.baseUrl })
    const { password } = ACCOUNT_SECRETS
    errors.length = 0
    await attempt(() => account.listActivities({ from: new Date(0), to: new Date(1) }))
    await attempt(() => account.fetchActivity('ab12', { samples: true }))
    await attempt(() => account.downloadWorkout(`/oauth/workout-download/w.erg?key=${SECRET}`))
    await attempt(() => account.downloadWorkout(`https://elsewhere.test/w.erg?key=${SECRET}`))
    await attempt(() => account.uploadFit({ fileName: 'a.fit', bytes: Buffer.from('x') }))
    await attempt(() => account.refreshTokenIfDue())
    await attempt(() => service.requestLogin(client, { type: 'password', username: 'rider', password }))
    await attempt(() =>
      service.requestLogin(client, {
        type: 'authorization_code',
        code: SECRET,
        redirectUri: 'http://127.0.0.1/cb',
      }),
    )
    await attempt(() =>
      service.requestLogin(client, {
        type: 'authorization_code',
        code: SECRET,
        redirectUri: `http://127.0.0.1/?s=${SECRET}`,
      }),
    )
    await attempt(() => service.listDefaultWorkouts(client.baseUrl))
    expect(errors.length).toBeGreaterThan(3)
    for (const error of errors) expect(everythingOf(error)).not.toContain(SECRET)
    expect(lines.join('')).not.toContain(SECRET)
    expect(kept.reasons.join(' ')).not.toContain(SECRET)
  })
})

describe('no secret leaks from a real connection', () => {
  it.each([
    ['that speaks no HTTP', `${echo}\r\n\r\n`],
    ['that breaks off in a header', `HTTP/1.1 200 OK\r\nx-token: ${SECRET}`],
    ['with a bad chunk', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${echo}\r\n`],
    ['with a short body', `HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{"access_token":"${SECRET}"`],
    [
      'with broken gzip',
      `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${echo.length}\r\n\r\n${echo}`,
    ],
  ])('%s', async (_name, bytes) => {
    const server = await openRawServer((socket) => socket.end(bytes))
    closers.push(() => server.close())
    const { log, lines } = makeTestLog()
    const clock = makeTestClock()
    const vault = makeMemoryVault({
      1: makeCredentials(new Date(0), { ...ACCOUNT_SECRETS, origin: server.origin }),
    })
    const service = openService(
      { vault, log, now: clock.now, sleep: clock.sleep },
      { concurrency: 1, requestsPerMinute: 60_000, userAgent: 'musette/test' },
    )
    closers.push(() => service.close())
    const account = service.forAccount({ accountId: 1, name: 'default', baseUrl: server.origin })
    const client = { baseUrl: server.origin, clientId: 'app', clientSecret: ACCOUNT_SECRETS.clientSecret }
    const errors = await Promise.all(
      [
        account.fetchTrainingInfo({}),
        service.requestLogin(client, {
          type: 'authorization_code',
          code: SECRET,
          redirectUri: 'http://127.0.0.1/cb',
        }),
        service.listDefaultWorkouts(server.origin),
      ].map((call) =>
        call.then(
          () => undefined,
          (error: unknown) => error,
        ),
      ),
    )
    for (const error of errors) {
      expect(error).toMatchObject({ name: 'TransientError' })
      expect(everythingOf(error)).not.toContain(SECRET)
    }
    expect(lines.join('')).not.toContain(SECRET)
  })
})

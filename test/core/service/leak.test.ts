import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { makeCredentials, makeMemoryVault } from './memory-vault.ts'
import {
  BASE_URL,
  CODE,
  makeTestClock,
  makeTestLog,
  openRealAccount,
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

const isToken = ({ path }: SentRequest) => path === '/oauth/token'

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

describe.each(REPLIES)('no secret gets out through %s', (_name, reply) => {
  const errors: unknown[] = []
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    await work().catch((error: unknown) => void errors.push(error))
  }

  const refused = { status: 401, body: echo }
  it.each<[string, (request: SentRequest) => Reply | Error]>([
    ['from the data endpoints', () => reply],
    ['from the token endpoint', (request) => (isToken(request) ? reply : refused)],
    ['from the data endpoints after a refresh', (request) => (isToken(request) ? refused : reply)],
  ])('%s', async (_where, answer) => {
    const vault = makeMemoryVault({ 1: makeCredentials(makeTestClock().now(), ACCOUNT_SECRETS) })
    const { service, account, lines } = openTestService(answer, { vault })
    const { password, clientSecret } = ACCOUNT_SECRETS
    const client = { baseUrl: BASE_URL, clientId: 'app', clientSecret }
    errors.length = 0
    await attempt(() => account.listActivities({ from: new Date(0), to: new Date(1) }))
    await attempt(() => account.fetchActivity('ab12', { samples: true }))
    await attempt(() => account.downloadWorkout(`/oauth/workout-download/w.erg?key=${SECRET}`))
    await attempt(() => account.downloadWorkout(`https://elsewhere.test/w.erg?key=${SECRET}`))
    await attempt(() => account.uploadFit({ fileName: 'a.fit', bytes: Buffer.from('x') }))
    await attempt(() => account.refreshTokenIfDue())
    await attempt(() => service.requestLogin(client, { type: 'password', username: 'rider', password }))
    for (const redirectUri of [CODE.redirectUri, `http://127.0.0.1/?s=${SECRET}`])
      await attempt(() => service.requestLogin(client, { ...CODE, code: SECRET, redirectUri }))
    await attempt(() => service.listDefaultWorkouts(client.baseUrl))
    expect(errors.length).toBeGreaterThan(3)
    for (const error of errors) expect(everythingOf(error)).not.toContain(SECRET)
    expect(lines.join('')).not.toContain(SECRET)
    expect(vault.reasons.join(' ')).not.toContain(SECRET)
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
    const expired = { ...ACCOUNT_SECRETS, obtainedAt: new Date(0), expiresAt: new Date(0) }
    const { service, account, lines } = openRealAccount(server, { concurrency: 1 }, expired)
    const client = { baseUrl: server.origin, clientId: 'app', clientSecret: ACCOUNT_SECRETS.clientSecret }
    const ends = await Promise.allSettled([
      account.fetchTrainingInfo({}),
      service.requestLogin(client, { ...CODE, code: SECRET }),
      service.listDefaultWorkouts(server.origin),
    ])
    for (const error of ends.map((end) => end.status === 'rejected' && end.reason)) {
      expect(error).toMatchObject({ name: 'TransientError' })
      expect(everythingOf(error)).not.toContain(SECRET)
    }
    expect(lines.join('')).not.toContain(SECRET)
  })
})

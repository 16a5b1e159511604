import { inspect } from 'node:util'
import { expect, it } from 'vitest'
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

// Every secret contains this word, and the service echoes it wherever a response has room.
const SECRET = 'sEcReT'
const ACCOUNT_SECRETS = {
  accessToken: `access-${SECRET}`,
  refreshToken: `refresh-${SECRET}`,
  clientSecret: `client-${SECRET}`,
  username: 'rider',
  password: `password-${SECRET}`,
}
const echo = `old access-${SECRET} refresh-${SECRET}`

/** Returns everything that a log, a table cell or a person could see of an error: text, fields, stack and causes. */
function everythingOf(error: unknown): string {
  const { log, lines } = makeTestLog()
  log.error({ error }, 'failed')
  return `${inspect(error, { depth: 10, showHidden: true })} ${lines.join('')} ${String(error)}`
}

const REPLIES: Array<[string, Reply | Error]> = [
  ['a refusal', { status: 400, body: { error: 'invalid_grant', error_description: echo } }],
  ['broken JSON', { body: `{"success":true,"access_token":"${echo}` }],
  ['JSON that a parser would quote', { body: `{"success":true,"a":${SECRET}}` }],
  ['an odd shape', { body: { success: true, activities: echo, workout: echo, access_token: ` ${echo}` } }],
  ['a redirect in a circle', { status: 302, headers: { location: `/again?token=${SECRET}` } }],
  ['a redirect to nowhere', { status: 302, headers: { location: `https://${SECRET} ` } }],
  ['a lost connection', Object.assign(new Error(`socket ${echo}`), { code: 'ECONNRESET', data: echo })],
]

const refused = { status: 401, body: echo }
/** What the data endpoints and the token endpoint answer, given the leaking reply. */
const PLACES: ReadonlyArray<(reply: Reply | Error) => [data: Reply | Error, token: Reply | Error]> = [
  (reply) => [reply, reply],
  (reply) => [refused, reply],
  (reply) => [reply, refused],
]

it.each(REPLIES)('no secret leaks through %s of the data or the token endpoint', async (_name, reply) => {
  const { password, clientSecret } = ACCOUNT_SECRETS
  const client = { baseUrl: BASE_URL, clientId: 'app', clientSecret }
  for (const place of PLACES) {
    const [data, token] = place(reply)
    const vault = makeMemoryVault({ 1: makeCredentials(makeTestClock().now(), ACCOUNT_SECRETS) })
    const answer = ({ path }: SentRequest) => (path === '/oauth/token' ? token : data)
    const { service, account, lines } = openTestService(answer, { vault })
    const errors: unknown[] = []
    for (const attempt of [
      () => account.listActivities({ from: new Date(0), to: new Date(1) }),
      () => account.fetchActivity('ab12', { samples: true }),
      () => account.downloadWorkout(`/oauth/workout-download/w.erg?key=${SECRET}`),
      () => account.downloadWorkout(`https://elsewhere.test/w.erg?key=${SECRET}`),
      () => account.uploadFit({ fileName: 'a.fit', bytes: Buffer.from('x') }),
      () => account.refreshTokenIfDue(),
      () => service.requestLogin(client, { type: 'password', username: 'rider', password }),
      () => service.requestLogin(client, { ...CODE, code: SECRET }),
      () => service.requestLogin(client, { ...CODE, redirectUri: `http://127.0.0.1/?s=${SECRET}` }),
      () => service.listDefaultWorkouts(client.baseUrl),
    ])
      await attempt().catch((error: unknown) => errors.push(error))
    expect(errors.length).toBeGreaterThan(3)
    const said = [...errors.map(everythingOf), ...lines, ...vault.reasons].join(' ')
    expect(said).not.toContain(SECRET)
  }
})

it.each([
  ['that does not speak HTTP', `${echo}\r\n\r\n`],
  ['with a bad chunk', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${echo}\r\n`],
  [
    'with broken gzip',
    `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${echo.length}\r\n\r\n${echo}`,
  ],
])('no secret leaks from a real connection %s', async (_name, bytes) => {
  const server = await openRawServer((socket) => socket.end(bytes))
  const expired = { ...ACCOUNT_SECRETS, obtainedAt: new Date(0), expiresAt: new Date(0) }
  const { account, service, lines } = openRealAccount(server, { concurrency: 1 }, expired)
  const ends = await Promise.allSettled([
    account.fetchTrainingInfo({}),
    service.listDefaultWorkouts(server.origin),
  ])
  for (const error of ends.map((end) => end.status === 'rejected' && end.reason)) {
    expect(error).toMatchObject({ name: 'TransientError' })
    expect(everythingOf(error)).not.toContain(SECRET)
  }
  expect(lines.join('')).not.toContain(SECRET)
})

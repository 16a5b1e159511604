import { describe, expect, it } from 'vitest'
import type { Credentials } from '../../../src/core/service/credentials.ts'
import type { ServiceOptions } from '../../../src/core/service/service.ts'
import { isAbort } from '../../../src/kit/errors.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/kit/time.ts'
import { readTable, readWords } from '../../kit/table.ts'
import { makeCredentials, makeMemoryVault } from './memory-vault.ts'
import {
  errorOf,
  makeTestClock,
  openTestService,
  type Reply,
  type SentRequest,
  tokenBody,
} from './open-test-service.ts'

const INFO = { success: true, status: 'Fresh' }
const [TOKEN, TRAINING, WORKOUTS] = ['/oauth/token', '/oauth/training_info', '/oauth/workouts'] as const
const START = makeTestClock().now()
const ago = (ms: number) => new Date(START.getTime() - ms)
const later = (ms: number) => ago(-ms)
/** Start times of a login whose token is due, and of one whose token has expired. */
const [DUE, EXPIRED] = [ago(4 * DAY), ago(8 * DAY)]
const rowOf = (obtainedAt = START, changes: Partial<Credentials> = {}) => makeCredentials(obtainedAt, changes)

const isToken = ({ path }: SentRequest) => path === TOKEN
const formOf = ({ body }: SentRequest) => new URLSearchParams(body)
const bearerOf = ({ headers }: SentRequest) => headers.authorization?.replace('Bearer ', '')

/** Makes a service that knows one access token at a time and rotates tokens like the real service. */
function makeRotating(access = 'access-0', refresh = 'refresh-0', password?: string) {
  const state = { access, refresh }
  let count = 0
  const answer = (request: SentRequest): Reply => {
    if (!isToken(request))
      return bearerOf(request) === state.access ? { body: INFO } : { status: 401, body: {} }
    const form = formOf(request)
    const known =
      form.get('grant_type') === 'password'
        ? form.get('password') === password
        : form.get('refresh_token') === state.refresh
    if (!known) return { status: 400, body: { error: 'invalid_grant' } }
    count += 1
    Object.assign(state, { access: `access-${count}`, refresh: `refresh-${count}` })
    return { body: tokenBody(count) }
  }
  return Object.assign(answer, { state })
}

type Answer = (request: SentRequest) => Reply | Error
const all =
  (reply: Reply): Answer =>
  () =>
    reply
const tokens =
  (reply: Reply | Error, other: Reply = { body: INFO }): Answer =>
  (request) =>
    isToken(request) ? reply : other

/** Opens an account with a stored login, and a service that answers with `answer`. */
function open(
  answer: Answer,
  row: Credentials | null = rowOf(),
  { shared, ...options }: Partial<ServiceOptions> & { shared?: ReturnType<typeof makeMemoryVault> } = {},
) {
  const vault = shared ?? makeMemoryVault(row ? { 1: row } : {})
  const opened = openTestService(answer, { vault, ...options })
  return {
    ...opened,
    vault,
    info: () => opened.account.fetchTrainingInfo({}),
    ride: (path: string) => opened.account.fetchActivity(path, { samples: true }),
    row: () => vault.rows.get(1),
    paths: () => opened.requests.map(({ path }) => path),
    refreshes: () => opened.requests.filter(isToken).length,
  }
}

const byPause = { failures: 3, notBefore: later(HOUR) }
const wrongClock = later(7 * DAY)

/** Stored logins, by the names that the table uses. */
const STORED: Readonly<Record<string, Credentials | null>> = {
  none: null,
  young: rowOf(),
  'half over': rowOf(ago(3.6 * DAY)),
  expired: rowOf(EXPIRED),
  'of another address': rowOf(DUE, { origin: 'https://elsewhere.test' }),
  'with a password': rowOf(START, { username: 'rider', password: 'rider' }),
  'failed, until a wrong clock': rowOf(EXPIRED, { failures: 3, notBefore: wrongClock }),
  'refused, since a wrong clock': rowOf(EXPIRED, {
    ...{ refusals: 1, refusedSince: wrongClock, notBefore: wrongClock },
  }),
  'in a pause': rowOf(START, byPause),
  'expired, in a pause': rowOf(EXPIRED, byPause),
  'young, ended': rowOf(START, { needsLogin: true }),
  'expired, ended': rowOf(EXPIRED, { needsLogin: true }),
}

const SERVICES: Readonly<Record<string, () => Answer>> = {
  answers: () => all({ body: INFO }),
  rotates: () => makeRotating(),
  'refuses the token': () => makeRotating('gone'),
  'refuses it with status 200': () => {
    const rotating = makeRotating('gone')
    return (request) => {
      const reply = rotating(request)
      return reply.status === 401 ? { status: 200, body: { error: 'invalid_token' } } : reply
    }
  },
  'refuses everything': () => all({ status: 401, body: {} }),
  'knows no login': () => makeRotating('gone', 'other'),
  'says invalid_grant with status 200': () =>
    tokens({ body: { error: 'invalid_grant', access_token: '' } }, { status: 401 }),
  'knows the password': () => makeRotating('gone', 'other', 'rider'),
  fails: () => all({ status: 500, body: '' }),
}

describe('a request', () => {
  it.each(
    readTable(`
      uses a young token | young | answers | training_info | Fresh
      refreshes a token after half of its life before its use | half over | rotates | token training_info | Fresh
      refreshes at once on a 401 | young | refuses the token | training_info token training_info | Fresh
      treats an OAuth error with status 200 as a 401 | young | refuses it with status 200 | training_info token training_info | Fresh
      sends no token to an address that did not issue it | of another address | answers | | account_moved
      parks the account on invalid_grant and names the command to run | young | knows no login | training_info token workouts | needs_login
      recognizes invalid_grant with status 200 | young | says invalid_grant with status 200 | training_info token workouts | needs_login
      tries a stored password once, and uses its pair | with a password | knows the password | training_info token token training_info | Fresh
      parks the account if the stored password is refused too | with a password | knows no login | training_info token token workouts | needs_login
      fails for now if the refresh of an expired token fails | expired | fails | token | refresh_pending
      does not wait a week because a clock was ahead at a failure | failed, until a wrong clock | refuses the token | token training_info | Fresh
      does not wait a week because a clock was ahead at a refusal | refused, since a wrong clock | refuses the token | token training_info | Fresh
      makes no attempt before the stored time, even for a refused token | in a pause | refuses everything | training_info workouts | refresh_pending
      of a person does not wait for a pause to end | in a pause | refuses the token | training_info token training_info | Fresh
      of a person does not wait with an expired token either | expired, in a pause | refuses the token | token training_info | Fresh
      of an ended login is not made once its token has expired | expired, ended | answers | | needs_login
      of an ended login requests no tokens after its old one was refused | young, ended | refuses everything | training_info workouts | needs_login
      of an account that never signed in is not made | none | answers | | needs_login`),
  )('%s', async (what, stored = '', service = '', sent = '', end) => {
    const answer = SERVICES[service]?.()
    if (!answer) throw new Error(`no service ${service}`)
    const opened = open(answer, STORED[stored], { byHand: what.startsWith('of a person') })
    const error = await opened.info().then(
      ({ value }) => ({ code: value.status }),
      (reason) => reason,
    )
    expect(error.code).toBe(end)
    const paths = readWords(sent).filter(Boolean)
    expect(opened.paths()).toEqual(paths.map((path) => `/oauth/${path}`))
    const [isRefreshed, isParked] = [
      paths.includes('token') && end === 'Fresh',
      opened.vault.writes[0] === 'park',
    ]
    if (isRefreshed)
      expect(opened.row()).toEqual({
        ...STORED[stored],
        ...{ accessToken: 'access-1', refreshToken: 'refresh-1' },
        obtainedAt: new Date(Math.max(START.getTime(), Number(STORED[stored]?.obtainedAt) + 1)),
        ...{
          expiresAt: later(7 * DAY),
          failures: 0,
          notBefore: undefined,
          refusals: 0,
          refusedSince: undefined,
        },
      })
    expect(isParked).toBe(paths.includes('token') && end === 'needs_login')
    if (isParked) {
      expect(error.message).toBe('login of account "default" has ended; run: musette login')
      expect(opened.lines.some((line) => line.includes('run: musette login'))).toBe(true)
    }
    if (service === 'fails') expect(error.cause).toMatchObject({ code: 'server_error' })
    // A second call makes as few requests as the first.
    if (!isRefreshed && error instanceof Error) {
      await errorOf(opened.info())
      expect(opened.paths()).toHaveLength(paths.length)
    }
  })

  it.each([
    ['two processes that share a vault', 2, 1],
    ['twenty callers', 1, 20],
  ])('refreshes once for %s', async (_what, processes, callers) => {
    const vault = makeMemoryVault({ 1: rowOf() })
    const answer = makeRotating('gone')
    const opened = Array.from({ length: processes }, () => open(answer, undefined, { shared: vault }))
    const calls = opened.flatMap(({ info }) => Array.from({ length: callers }, () => info()))
    const answers = await Promise.all(calls)
    expect(answers.every(({ value }) => value.status === 'Fresh')).toBe(true)
    expect(opened.reduce((sum, { refreshes }) => sum + refreshes(), 0)).toBe(1)
    expect(vault.writes).toEqual(['save'])
  })

  it('uses another process’s newer pair after a 401, without a refresh', async () => {
    const answer = makeRotating('access-9')
    const { ride, vault, requests } = open((one) => {
      vault.rows.set(1, rowOf(ago(HOUR), { accessToken: 'access-9' }))
      return answer(one)
    })
    for (const path of ['ride', 'other']) await ride(path)
    expect(requests.map(bearerOf)).toEqual(['access-0', 'access-9', 'access-9'])
  })

  it('does not refresh if the account moves between the read and the lock', async () => {
    const vault = makeMemoryVault({ 1: rowOf(DUE) })
    const locked: typeof vault.locked = (accountId, use) => {
      vault.rows.set(1, rowOf(START, { accessToken: 'x', origin: 'https://elsewhere.test' }))
      return vault.locked(accountId, use)
    }
    const { info, requests } = open(all({ body: INFO }), undefined, { shared: { ...vault, locked } })
    expect(await errorOf(info())).toMatchObject({ code: 'account_moved' })
    expect(requests).toEqual([])
  })

  it('reads the vault again before an activity counts as gone', async () => {
    const { ride, vault, requests } = open((one) =>
      one.path.includes('/theirs') === (bearerOf(one) === 'access-9')
        ? { body: { success: true } }
        : { status: 404, body: {} },
    )
    await ride('mine')
    vault.rows.set(1, rowOf(ago(HOUR), { accessToken: 'access-9' }))
    await ride('theirs')
    expect(requests.map(bearerOf)).toEqual(['access-0', 'access-0', 'access-9'])
    expect(await errorOf(ride('mine'))).toMatchObject({ status: 404 })
    expect(requests).toHaveLength(4)
  })
})

describe('new tokens that the service rejects', () => {
  /** Makes a service whose token endpoint works, and whose other endpoints answer 401 until `endsAt` (ms after the start). */
  function openOutage(endsAt: number, shared = makeMemoryVault({ 1: rowOf() })) {
    let made = 0
    const dead = new Set(['refresh-dead'])
    const opened = open(
      (one) => {
        const isOver = opened.clock.now().getTime() >= START.getTime() + endsAt
        if (!isToken(one)) return isOver ? { body: INFO } : { status: 401, body: {} }
        const sent = formOf(one).get('refresh_token') ?? ''
        if (dead.has(sent)) return { status: 400, body: { error: 'invalid_grant' } }
        dead.add(sent)
        made += 1
        return { body: tokenBody(made) }
      },
      undefined,
      { shared },
    )
    /** Calls every `ms` until the time is over; returns the names of the errors in order, each once. */
    const callEvery = async (ms: number, until: number) => {
      const names: string[] = []
      while (opened.clock.now().getTime() < START.getTime() + until) {
        const name = await opened.info().then(
          () => 'good',
          (error: Error) => error.name,
        )
        if (names.at(-1) !== name) names.push(name)
        opened.clock.advance(ms)
      }
      return names
    }
    return { ...opened, callEvery, made: () => made }
  }

  it.each([
    ['14 seconds', 14 * SECOND, 5 * MINUTE, ['TransientError', 'good'], 0],
    ['six hours', 6 * HOUR, 5 * MINUTE, ['TransientError', 'good'], 1],
    ['40 hours with two calls', 40 * HOUR, 25 * HOUR, ['TransientError', 'good'], 1],
    ['30 hours', 30 * HOUR, 5 * MINUTE, ['TransientError', 'CredentialsRejectedError', 'good'], 1],
  ])('for %s count as an outage, after which the account recovers', async (_what, ms, every, names, told) => {
    const outage = openOutage(ms)
    expect(await outage.callEvery(every, ms + 2 * HOUR + every)).toEqual(names)
    expect(outage.row()).toMatchObject({ needsLogin: false, refusals: 0, refusedSince: undefined })
    // Pauses grow to an hour, half of it random: that makes about fifty tokens a day.
    expect(outage.made()).toBeLessThan(8 + (2 * ms) / HOUR)
    const errors = outage.lines.filter((line) => JSON.parse(line).level === 50)
    expect([errors.length > 0, outage.vault.reasons.length > 0]).toEqual([told > 0, told > 0])
  })

  it('are counted once for concurrent calls, and pause requests in every process', async () => {
    const outage = openOutage(DAY)
    const refused = { name: 'TransientError', code: 'token_refused' }
    for (const error of await Promise.all(Array.from({ length: 20 }, () => errorOf(outage.info()))))
      expect(error).toMatchObject(refused)
    expect(outage.row()).toMatchObject({ needsLogin: false, refusals: 1 })
    const other = openOutage(DAY, outage.vault)
    for (const { info } of [outage, other]) expect(await errorOf(info())).toMatchObject(refused)
    expect(other.requests).toEqual([])
    expect([outage.made(), outage.paths().at(-1)]).toEqual([1, WORKOUTS])
  })

  it('lose no response if the first accepted token cannot be stored', async () => {
    const vault = makeMemoryVault({ 1: rowOf(START, { refusals: 2, refusedSince: ago(HOUR) }) })
    const locked = () => Promise.reject(new Error('the database is away'))
    const { info, lines } = open(all({ body: INFO }), undefined, { shared: { ...vault, locked } })
    expect((await info()).value.status).toBe('Fresh')
    expect(lines.join()).toContain('could not record')
  })

  it('keep the pause of a failed refresh, even if another endpoint accepts the old token', async () => {
    const vault = makeMemoryVault({ 1: rowOf(START, { refusals: 2, refusedSince: ago(HOUR) }) })
    const answer = (one: SentRequest) => {
      if (isToken(one)) return { status: 400, body: { error: 'invalid_request' } }
      return one.path.startsWith(TRAINING) ? { status: 401, body: {} } : { body: INFO }
    }
    const { info, row } = open(answer, undefined, { shared: vault })
    expect(await errorOf(info())).toMatchObject({ code: 'refused_here' })
    expect(row()).toMatchObject({ failures: 1, refusals: 2, notBefore: expect.any(Date) })
  })

  it('do not hide an invalid_grant of the token endpoint', async () => {
    const outage = openOutage(40 * HOUR)
    await outage.callEvery(5 * MINUTE, 3 * HOUR)
    outage.vault.rows.set(1, { ...(outage.row() as Credentials), refreshToken: 'refresh-dead' })
    outage.clock.advance(2 * HOUR)
    expect(await errorOf(outage.info())).toMatchObject({ code: 'needs_login' })
    expect(outage.row()).toMatchObject({ needsLogin: true, refusals: 0 })
    const count = outage.requests.length
    outage.clock.advance(DAY)
    expect(await errorOf(outage.info())).toMatchObject({ code: 'needs_login' })
    expect(outage.requests).toHaveLength(count)
  })
})

describe('an object that the service rejects with 401', () => {
  const refusing = (start: string, elsewhere: Reply = { body: INFO }): Answer => {
    return (one) => {
      if (isToken(one)) return { body: tokenBody(1) }
      return one.path.startsWith(start) ? { status: 401, body: {} } : elsewhere
    }
  }
  const refusedHere = { name: 'RejectedError', code: 'refused_here', status: 401 }

  it.each([
    ['an activity', '/oauth/activity/ride', TRAINING, 200],
    ['the training info', TRAINING, WORKOUTS, 200],
    ['an activity, while the other endpoint fails differently', '/oauth/activity/ride', TRAINING, 404],
  ])(
    'does not end the login if no other endpoint rejects the new token: %s',
    async (_, path, other, status) => {
      const { info, ride, requests, vault } = open(refusing(path, { status, body: INFO }))
      const error = await errorOf(path.endsWith('ride') ? ride('ride') : info())
      expect(error).toMatchObject(status === 200 ? refusedHere : { name: 'RejectedError', status: 401 })
      expect(vault.writes).toEqual(['save'])
      expect(requests.at(-1)).toMatchObject({ path: other, headers: { authorization: 'Bearer access-1' } })
    },
  )

  it('costs one refresh, even if several objects are rejected', async () => {
    const { info, ride, refreshes } = open(refusing('/oauth/activity/'))
    for (const path of ['a', 'b', 'c']) expect(await errorOf(ride(path))).toMatchObject({ status: 401 })
    expect((await info()).value.status).toBe('Fresh')
    expect(refreshes()).toBe(1)
  })

  it('prevents the upload of a file while the rider is checked', async () => {
    const vault = makeMemoryVault({ 1: rowOf(START, { isRiderCompared: false }) })
    const evidence = { paths: ['ride'], from: START, to: START }
    const findEvidence = async () => ({ ...(await vault.findEvidence(1)), ...evidence })
    const shared = { ...vault, findEvidence }
    const { account, paths } = open(refusing('/oauth/activity'), undefined, { shared })
    const unknown = { name: 'TransientError', code: 'rider_pending', requestSent: false }
    const file = { fileName: 'a.fit', bytes: Buffer.from('fit') }
    expect(await errorOf(account.uploadFit(file))).toMatchObject(unknown)
    expect(paths()).not.toContain('/oauth/upload')
  })
})

describe('a refresh without a definite response', () => {
  it.each<[string, Reply | Error]>([
    ['a 500', { status: 500, body: 'oops' }],
    ['a lost answer', Object.assign(new Error('gone'), { code: 'ECONNRESET' })],
    ['an HTML page', { body: '<html>maintenance</html>', headers: { 'content-type': 'text/html' } }],
    ['an empty access token', { body: { access_token: '' } }],
    ['a refused client', { status: 401, body: { error: 'invalid_client' } }],
    ['a 500 that says invalid_grant', { status: 500, body: { error: 'invalid_grant' } }],
  ])('never ends the login on %s', async (_name, reply) => {
    const { info, account, refreshes, row, vault } = open(tokens(reply), rowOf(DUE))
    expect((await info()).value.status).toBe('Fresh')
    expect(row()).toMatchObject({ needsLogin: false, failures: 1, accessToken: 'access-0' })
    await info()
    expect(await account.refreshTokenIfDue()).toBe('fresh')
    expect([refreshes(), vault.writes]).toEqual([1, ['failure']])
  })
})

describe('a refresh that is rejected without a reason', () => {
  const page = { body: '<html>denied</html>', headers: { 'content-type': 'text/html' } }
  /** Calls every hour until `ms` after the start, while each refresh gets `reply`; then the token endpoint works. */
  async function openRefused(reply: Reply, ms: number, stored = rowOf(DUE)) {
    const isOver = () => opened.clock.now() >= later(ms)
    const opened = open((one) => {
      if (!isToken(one)) return { body: INFO }
      return isOver() ? { body: tokenBody(1) } : reply
    }, stored)
    const ends: string[] = []
    let said = ''
    while (!isOver()) {
      const end = await opened.info().catch((error: Error) => error)
      const name = end instanceof Error ? end.name : 'good'
      if (end instanceof Error) said = end.message
      if (ends.at(-1) !== name) ends.push(name)
      opened.clock.advance(HOUR)
    }
    return { ...opened, ends, said }
  }

  it.each<[string, Reply, number, boolean]>([
    ['400 for 26 hours', { status: 400, body: {} }, 26 * HOUR, true],
    ['401 without content for 3 days', { status: 401, body: '' }, 3 * DAY, true],
    ['403 with a page for 3 days', { status: 403, ...page }, 3 * DAY, true],
    ['a refused client for 3 days', { status: 401, body: { error: 'invalid_client' } }, 3 * DAY, true],
    ['400 for 20 hours', { status: 400, body: {} }, 20 * HOUR, false],
    ['500 for 3 days', { status: 500, body: {} }, 3 * DAY, false],
    ['404 for 3 days', { status: 404, body: {} }, 3 * DAY, false],
    ['a page for 3 days', page, 3 * DAY, false],
  ])('asks for a login after a day, but keeps the old token in use: %s', async (_what, reply, ms, asks) => {
    const { ends, row, vault, info, account, refreshes, clock } = await openRefused(reply, ms)
    expect([row()?.needsLogin, ends, row()?.accessToken]).toEqual([asks, ['good'], 'access-0'])
    expect(vault.reasons.some((reason) => reason.includes('run: musette login'))).toBe(asks)
    // Pauses grow to six hours.
    expect(refreshes()).toBeLessThan(8 + ms / (3 * HOUR))
    clock.advance(7 * HOUR)
    expect(await account.refreshTokenIfDue()).toBe('refreshed')
    expect((await info()).value.status).toBe('Fresh')
    const healthy = { needsLogin: false, failures: 0, refusals: 0, refusedSince: undefined }
    expect(row()).toMatchObject({ ...healthy, accessToken: 'access-1' })
  })

  it('names the command once its old token has expired, and keeps retrying', async () => {
    const { ends, said, vault, refreshes, row } = await openRefused({ status: 400 }, 3 * DAY, rowOf(EXPIRED))
    expect(ends).toEqual(['TransientError', 'CredentialsRejectedError'])
    expect(row()).toMatchObject({ needsLogin: true, refusals: 0 })
    expect(refreshes()).toBeGreaterThan(10)
    for (const text of [said, vault.reasons.at(-1)]) expect(text).toMatch(/; run: musette login$/)
    expect(vault.reasons.at(-1)).toContain('(status 400)')
  })
})

it('an ended login keeps its old access token in use', async () => {
  const { info, refreshes, row } = open(makeRotating('access-0', 'other'), rowOf(DUE))
  for (let call = 0; call < 2; call += 1) expect((await info()).value.status).toBe('Fresh')
  expect([row()?.needsLogin, refreshes()]).toEqual([true, 1])
})

it('a token check returns fresh, refreshed or parked, and refreshes within days', async () => {
  const { account, clock, vault } = open(makeRotating())
  const check = () => account.refreshTokenIfDue()
  expect(await check()).toBe('fresh')
  clock.advance(3.6 * DAY)
  expect([await check(), await check()]).toEqual(['refreshed', 'fresh'])
  vault.rows.set(1, rowOf(DUE, { refreshToken: 'stolen' }))
  expect([await check(), await check()]).toEqual(['parked', 'parked'])
  const expiresAt = new Date('2342-01-01T00:00:00Z')
  const endless = open(makeRotating(), rowOf(ago(9 * DAY), { expiresAt }))
  expect(await endless.account.refreshTokenIfDue()).toBe('refreshed')
  const moved = open(makeRotating(), rowOf(DUE, { origin: 'https://elsewhere.test' }))
  expect(await errorOf(moved.account.refreshTokenIfDue())).toMatchObject({ code: 'account_moved' })
  expect(moved.requests).toEqual([])
})

it('a stop during a refresh releases the caller; closing waits for the new pair', async () => {
  const stop = new AbortController()
  const rotating = makeRotating('gone')
  const { account, service, row } = open((one) => {
    if (isToken(one)) stop.abort()
    return rotating(one)
  })
  expect(isAbort(await errorOf(account.fetchTrainingInfo({}, stop.signal)), stop.signal)).toBe(true)
  await service.close()
  expect(row()).toMatchObject({ accessToken: 'access-1', refreshToken: 'refresh-1' })
})

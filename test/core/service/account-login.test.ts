import { describe, expect, it } from 'vitest'
import type { Credentials } from '../../../src/core/service/credentials.ts'
import { isAbort } from '../../../src/kit/errors.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/kit/time.ts'
import { makeCredentials, makeMemoryVault } from './memory-vault.ts'
import {
  ACCOUNT,
  errorOf,
  makeTestClock,
  openTestService,
  type Reply,
  type SentRequest,
  tokenBody,
} from './open-test-service.ts'

const INFO = { success: true, status: 'Fresh' }
const START = makeTestClock().now()
const ago = (ms: number) => new Date(START.getTime() - ms)

function isToken(requests: SentRequest): boolean {
  return requests.path === '/oauth/token'
}

function bearerOf(requests: SentRequest): string | undefined {
  return requests.headers.authorization?.replace('Bearer ', '')
}

/** A service that knows one access token at a time and rotates like the real one. */
function makeRotating(state: { access: string; refresh: string; password?: string }) {
  let count = 0
  return (requests: SentRequest): Reply => {
    if (!isToken(requests))
      return bearerOf(requests) === state.access ? { body: INFO } : { status: 401, body: {} }
    const form = new URLSearchParams(requests.body)
    const known =
      form.get('grant_type') === 'password'
        ? form.get('password') === state.password
        : form.get('refresh_token') === state.refresh
    if (!known) return { status: 400, body: { error: 'invalid_grant' } }
    count += 1
    state.access = `access-${count}`
    state.refresh = `refresh-${count}`
    return { body: tokenBody(count) }
  }
}

describe('a session', () => {
  it('uses the stored token without a request while it is young', async () => {
    const { service, requests } = openTestService(() => ({ body: INFO }))
    const answer = await service.forAccount(ACCOUNT).fetchTrainingInfo({})
    expect(answer.value.status).toBe('Fresh')
    expect(requests.map(bearerOf)).toEqual(['access-0'])
  })

  it('refreshes a token after half of its life before its use', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(ago(3.6 * DAY)) })
    const { service, requests } = openTestService(
      makeRotating({ access: 'access-0', refresh: 'refresh-0' }),
      {
        vault,
      },
    )
    await service.forAccount(ACCOUNT).fetchTrainingInfo({})
    expect(requests.map((one) => one.path)).toEqual(['/oauth/token', '/oauth/training_info'])
    expect(vault.rows.get(1)).toMatchObject({
      accessToken: 'access-1',
      refreshToken: 'refresh-1',
      obtainedAt: START,
    })
  })

  it('refreshes a token within days even when its row has a longer lifetime', async () => {
    const expiresAt = new Date('2342-01-01T00:00:00Z')
    const vault = makeMemoryVault({ 1: makeCredentials(ago(9 * DAY), { expiresAt }) })
    const rotating = makeRotating({ access: 'access-0', refresh: 'refresh-0' })
    const { service } = openTestService(rotating, { vault })
    expect(await service.forAccount(ACCOUNT).refreshTokenIfDue()).toBe('refreshed')
  })

  it('refreshes once for twenty callers', async () => {
    const { service, requests, vault } = openTestService(
      makeRotating({ access: 'gone', refresh: 'refresh-0' }),
    )
    const calls = Array.from({ length: 20 }, () => service.forAccount(ACCOUNT).fetchTrainingInfo({}))
    const answers = await Promise.all(calls)
    expect(answers.every((answer) => answer.value.status === 'Fresh')).toBe(true)
    expect(requests.filter(isToken)).toHaveLength(1)
    expect(vault.writes).toEqual(['save'])
    expect(vault.locks()).toBe(1)
  })

  it('refreshes once for two processes that share a vault', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(START) })
    const answer = makeRotating({ access: 'gone', refresh: 'refresh-0' })
    const [one, two] = [openTestService(answer, { vault }), openTestService(answer, { vault })]
    await Promise.all([one, two].map(({ service }) => service.forAccount(ACCOUNT).fetchTrainingInfo({})))
    expect([...one.requests, ...two.requests].filter(isToken)).toHaveLength(1)
  })

  it('uses the newer pair of another process after a 401 and does not refresh', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(START) })
    const { service, requests } = openTestService(
      (one) => {
        if (bearerOf(one) === 'access-9') return { body: INFO }
        vault.rows.set(1, makeCredentials(START, { accessToken: 'access-9', refreshToken: 'refresh-9' }))
        return { status: 401, body: {} }
      },
      { vault },
    )
    await service.forAccount(ACCOUNT).fetchTrainingInfo({})
    expect(requests.map(bearerOf)).toEqual(['access-0', 'access-9'])
  })

  it('sends no token to an address that did not issue it', async () => {
    const moved = makeCredentials(ago(4 * DAY), { origin: 'https://elsewhere.test' })
    const vault = makeMemoryVault({ 1: moved })
    const { service, requests } = openTestService(() => ({ body: INFO }), { vault })
    const account = service.forAccount(ACCOUNT)
    const refusal = { name: 'TransientError', code: 'account_moved' }
    expect(await errorOf(account.fetchTrainingInfo({}))).toMatchObject(refusal)
    expect(await errorOf(account.refreshTokenIfDue())).toMatchObject(refusal)
    expect(requests).toEqual([])
  })

  it('refreshes nothing when the account moves between the read and the lock', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(ago(4 * DAY)) })
    const locked: typeof vault.locked = (accountId, use) => {
      vault.rows.set(1, makeCredentials(START, { accessToken: 'x', origin: 'https://elsewhere.test' }))
      return vault.locked(accountId, use)
    }
    const { service, requests } = openTestService(() => ({ body: INFO }), { vault: { ...vault, locked } })
    expect(await errorOf(service.forAccount(ACCOUNT).fetchTrainingInfo({}))).toMatchObject({
      code: 'account_moved',
    })
    expect(requests).toEqual([])
  })

  it('reads the vault once a second for activities, and for every list', async () => {
    const { service, vault, clock } = openTestService(() => ({ body: { success: true, activities: [] } }))
    const account = service.forAccount(ACCOUNT)
    const ride = () => account.fetchActivity('ride', { samples: true })
    await Promise.all([ride(), ride(), ride()])
    await ride()
    expect(vault.reads()).toBe(1)
    clock.advance(1_000)
    await ride()
    expect(vault.reads()).toBe(2)
    for (const reads of [3, 4]) {
      await account.listActivities({ from: ago(DAY), to: START })
      expect(vault.reads()).toBe(reads)
    }
  })

  it('finds a pair that another process stored after that read', async () => {
    const state = { access: 'access-0', refresh: 'refresh-0' }
    const { service, vault, requests } = openTestService(makeRotating(state))
    const account = service.forAccount(ACCOUNT)
    await account.fetchActivity('ride', { samples: true })
    state.access = 'access-9'
    vault.rows.set(1, makeCredentials(START, { accessToken: 'access-9', obtainedAt: ago(HOUR) }))
    await account.fetchActivity('other', { samples: true })
    await account.fetchActivity('third', { samples: true })
    expect(requests.map(bearerOf)).toEqual(['access-0', 'access-0', 'access-9', 'access-9'])
  })

  it('reads the vault again before an activity counts as gone, because another rider may have signed in', async () => {
    const { service, vault, requests } = openTestService((one) =>
      one.path.includes('/theirs') === (bearerOf(one) === 'access-9')
        ? { body: { success: true } }
        : { status: 404, body: {} },
    )
    const account = service.forAccount(ACCOUNT)
    await account.fetchActivity('mine', { samples: true })
    vault.rows.set(1, makeCredentials(START, { accessToken: 'access-9', obtainedAt: ago(HOUR) }))
    await account.fetchActivity('theirs', { samples: true })
    expect(requests.map(bearerOf)).toEqual(['access-0', 'access-0', 'access-9'])
    expect(await errorOf(account.fetchActivity('mine', { samples: true }))).toMatchObject({ status: 404 })
    expect(requests).toHaveLength(4)
  })

  it('refreshes at once on a 401 and repeats the request once', async () => {
    const { service, requests } = openTestService(makeRotating({ access: 'gone', refresh: 'refresh-0' }))
    await service.forAccount(ACCOUNT).fetchTrainingInfo({})
    expect(requests.map((one) => one.path)).toEqual([
      '/oauth/training_info',
      '/oauth/token',
      '/oauth/training_info',
    ])
  })

  it('treats an OAuth error with status 200 as a 401', async () => {
    const rotating = makeRotating({ access: 'gone', refresh: 'refresh-0' })
    const { service, requests } = openTestService((one) => {
      const reply = rotating(one)
      return reply.status === 401 ? { status: 200, body: { error: 'invalid_token' } } : reply
    })
    await service.forAccount(ACCOUNT).fetchTrainingInfo({})
    expect(requests.filter(isToken)).toHaveLength(1)
  })
})

describe('new tokens that the service refuses', () => {
  /** A service whose token endpoint works, and whose other endpoints answer 401 until `endsAt` (ms after the start). */
  function openOutage(endsAt: number, vault = makeMemoryVault({ 1: makeCredentials(START) })) {
    let made = 0
    const dead = new Set(['refresh-dead'])
    const opened = openTestService(
      (one) => {
        if (!isToken(one))
          return opened.clock.now().getTime() < START.getTime() + endsAt
            ? { status: 401, body: {} }
            : { body: INFO }
        const sent = new URLSearchParams(one.body).get('refresh_token') ?? ''
        if (dead.has(sent)) return { status: 400, body: { error: 'invalid_grant' } }
        dead.add(sent)
        made += 1
        return { body: tokenBody(made) }
      },
      { vault },
    )
    const account = opened.service.forAccount(ACCOUNT)
    /** Calls every `ms` until the time is over; returns the names of the errors, each once, in their order. */
    const callEvery = async (ms: number, until: number) => {
      const names: string[] = []
      while (opened.clock.now().getTime() < START.getTime() + until) {
        const error = await account.fetchTrainingInfo({}).then(
          () => undefined,
          (reason: Error) => reason,
        )
        const name = error?.name ?? 'good'
        if (names.at(-1) !== name) names.push(name)
        opened.clock.advance(ms)
      }
      return names
    }
    const row = () => vault.rows.get(1)
    return { ...opened, vault, account, callEvery, row, made: () => made }
  }

  it.each([
    ['14 seconds', 14 * SECOND, ['TransientError', 'good'], 0],
    ['six hours', 6 * HOUR, ['TransientError', 'good'], 1],
    ['30 hours', 30 * HOUR, ['TransientError', 'CredentialsRejectedError', 'good'], 1],
  ])('for %s are an outage, after which the account recovers', async (_what, ms, names, told) => {
    const outage = openOutage(ms)
    expect(await outage.callEvery(5 * MINUTE, ms + 2 * HOUR)).toEqual(names)
    expect(outage.row()).toMatchObject({ needsLogin: false, refusals: 0, refusedSince: undefined })
    // Pauses grow to an hour, half of which is chance: in a day some fifty tokens.
    expect(outage.made()).toBeLessThan(8 + (2 * ms) / HOUR)
    const errors = outage.lines.filter((line) => JSON.parse(line).level === 50)
    expect(errors.length > 0).toBe(told > 0)
    expect(outage.vault.reasons.length > 0).toBe(told > 0)
  })

  it('make no request during the stored pause, also in another process', async () => {
    const outage = openOutage(DAY)
    expect(await errorOf(outage.account.fetchTrainingInfo({}))).toMatchObject({
      name: 'TransientError',
      code: 'token_refused',
    })
    expect(outage.row()).toMatchObject({ needsLogin: false, refusals: 1, refusedSince: START })
    const other = openOutage(DAY, outage.vault)
    for (const { account } of [outage, other]) {
      expect(await errorOf(account.fetchTrainingInfo({}))).toMatchObject({ code: 'token_refused' })
    }
    expect(other.requests).toEqual([])
    expect(outage.requests.map(({ path }) => path)).toEqual([
      '/oauth/training_info',
      '/oauth/token',
      '/oauth/training_info',
      '/oauth/workouts',
    ])
  })

  it('are counted once for all concurrent calls', async () => {
    const outage = openOutage(DAY)
    await Promise.all(Array.from({ length: 20 }, () => errorOf(outage.account.fetchTrainingInfo({}))))
    expect(outage.row()).toMatchObject({ refusals: 1 })
    expect(outage.made()).toBe(1)
  })

  it('require a login only after three over a day, and are tried once an hour', async () => {
    const outage = openOutage(40 * HOUR)
    await outage.callEvery(5 * HOUR, 20 * HOUR)
    expect(outage.row()).toMatchObject({ needsLogin: false })
    expect(outage.row()?.refusals).toBeGreaterThan(3)
    await outage.callEvery(5 * HOUR, 26 * HOUR)
    expect(outage.row()).toMatchObject({ needsLogin: true })
    expect(outage.vault.reasons.at(-1)).toContain('run: musette login')
    const before = outage.made()
    expect(await outage.callEvery(15 * MINUTE, 35 * HOUR)).toEqual(['CredentialsRejectedError'])
    expect(outage.made() - before).toBeGreaterThan(8)
  })

  it('lose no answer when the first accepted token cannot be stored', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(START, { refusals: 2, refusedSince: ago(HOUR) }) })
    const locked = () => Promise.reject(new Error('the database is away'))
    const { service, lines } = openTestService(() => ({ body: INFO }), { vault: { ...vault, locked } })
    expect((await service.forAccount(ACCOUNT).fetchTrainingInfo({})).value.status).toBe('Fresh')
    expect(lines.join()).toContain('could not record')
  })

  it('do not hide an invalid_grant of the token endpoint', async () => {
    const outage = openOutage(40 * HOUR)
    await outage.callEvery(5 * MINUTE, 3 * HOUR)
    outage.vault.rows.set(1, { ...(outage.row() as Credentials), refreshToken: 'refresh-dead' })
    outage.clock.advance(2 * HOUR)
    expect(await errorOf(outage.account.fetchTrainingInfo({}))).toMatchObject({ code: 'needs_login' })
    expect(outage.row()).toMatchObject({ needsLogin: true, refusals: 0 })
    const count = outage.requests.length
    outage.clock.advance(DAY)
    expect(await errorOf(outage.account.fetchTrainingInfo({}))).toMatchObject({ code: 'needs_login' })
    expect(outage.requests).toHaveLength(count)
  })
})

describe('an object that is refused with 401', () => {
  const at = (path: string) => (requests: SentRequest) => requests.path.startsWith(path)
  const refusing =
    (path: string, elsewhere: Reply = { body: INFO }) =>
    (requests: SentRequest): Reply => {
      if (isToken(requests)) return { body: tokenBody(1) }
      return at(path)(requests) ? { status: 401, body: {} } : elsewhere
    }

  it.each([
    ['an activity', '/oauth/activity/ride', '/oauth/training_info'],
    ['the training info', '/oauth/training_info', '/oauth/workouts'],
  ])('does not end the login when another endpoint accepts the new token: %s', async (_what, path, other) => {
    const { service, requests, vault } = openTestService(refusing(path))
    const account = service.forAccount(ACCOUNT)
    const call = () =>
      path.endsWith('ride')
        ? account.fetchActivity('ride', { samples: false })
        : account.fetchTrainingInfo({})
    expect(await errorOf(call())).toMatchObject({ name: 'RejectedError', code: 'refused_here', status: 401 })
    expect(vault.writes).toEqual(['save'])
    expect(requests.at(-1)).toMatchObject({ path: other })
    expect(bearerOf(requests.at(-1) as SentRequest)).toBe('access-1')
  })

  it('costs one refresh for any number of such objects', async () => {
    const { service, requests, vault } = openTestService(refusing('/oauth/activity/'))
    const account = service.forAccount(ACCOUNT)
    for (const ride of ['a', 'b', 'c']) {
      expect(await errorOf(account.fetchActivity(ride, { samples: false }))).toMatchObject({
        status: 401,
      })
    }
    expect(requests.filter(isToken)).toHaveLength(1)
    expect((await account.fetchTrainingInfo({})).value.status).toBe('Fresh')
    expect(vault.rows.get(1)?.needsLogin).toBe(false)
  })

  it('parks nothing when the other endpoint fails otherwise', async () => {
    const { service, vault } = openTestService(refusing('/oauth/activity/', { status: 404, body: {} }))
    const call = service.forAccount(ACCOUNT).fetchActivity('ride', { samples: false })
    expect(await errorOf(call)).toMatchObject({ name: 'RejectedError', status: 401 })
    expect(vault.writes).toEqual(['save'])
  })

  it('does not stop other requests with the last token of an ended login', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(START, { needsLogin: true }) })
    const { service, requests } = openTestService(refusing('/oauth/activity/'), { vault })
    const account = service.forAccount(ACCOUNT)
    expect(await errorOf(account.fetchActivity('ride', { samples: false }))).toMatchObject({
      status: 401,
    })
    expect((await account.fetchTrainingInfo({})).value.status).toBe('Fresh')
    expect(requests.filter(isToken)).toEqual([])
  })
})

describe('a refresh that is refused', () => {
  it('parks the account on invalid_grant and names the command to run', async () => {
    const { service, vault, lines } = openTestService(makeRotating({ access: 'gone', refresh: 'other' }))
    const error = await errorOf(service.forAccount(ACCOUNT).fetchTrainingInfo({}))
    expect(error).toMatchObject({
      name: 'CredentialsRejectedError',
      code: 'needs_login',
      message: 'login of account "default" has ended; run: musette login',
    })
    expect(vault.writes).toEqual(['park'])
    expect(lines.some((line) => line.includes('run: musette login'))).toBe(true)
  })

  it('names the account in the command when it is not the default one', async () => {
    const { service } = openTestService(makeRotating({ access: 'gone', refresh: 'other' }))
    const error = await errorOf(service.forAccount({ ...ACCOUNT, name: 'anna' }).fetchTrainingInfo({}))
    expect(error.message).toBe('login of account "anna" has ended; run: musette login anna')
  })

  it('keeps the old access token in use after the login has ended', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(ago(4 * DAY)) })
    const { service, requests } = openTestService(makeRotating({ access: 'access-0', refresh: 'other' }), {
      vault,
    })
    const account = service.forAccount(ACCOUNT)
    expect((await account.fetchTrainingInfo({})).value.status).toBe('Fresh')
    expect((await account.fetchTrainingInfo({})).value.status).toBe('Fresh')
    expect(vault.rows.get(1)?.needsLogin).toBe(true)
    expect(requests.filter(isToken)).toHaveLength(1)
  })

  it('tries a stored password once, and uses its pair', async () => {
    const row = makeCredentials(START, { username: 'rider', password: 'rider' })
    const vault = makeMemoryVault({ 1: row })
    const rotating = makeRotating({ access: 'gone', refresh: 'other', password: 'rider' })
    const { service, requests } = openTestService(rotating, { vault })
    await service.forAccount(ACCOUNT).fetchTrainingInfo({})
    expect(requests.filter(isToken).map((one) => new URLSearchParams(one.body).get('grant_type'))).toEqual([
      'refresh_token',
      'password',
    ])
    expect(vault.rows.get(1)).toMatchObject({ accessToken: 'access-1', password: 'rider' })
  })

  it('parks the account when the stored password is refused as well', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(START, { username: 'rider', password: 'old' }) })
    const { service, requests } = openTestService(makeRotating({ access: 'gone', refresh: 'other' }), {
      vault,
    })
    await errorOf(service.forAccount(ACCOUNT).fetchTrainingInfo({}))
    expect(vault.writes).toEqual(['park'])
    expect(requests.filter(isToken)).toHaveLength(2)
  })

  it('recognizes invalid_grant with status 200', async () => {
    const { service, vault } = openTestService((one) =>
      isToken(one) ? { status: 200, body: { error: 'invalid_grant', access_token: '' } } : { status: 401 },
    )
    await errorOf(service.forAccount(ACCOUNT).fetchTrainingInfo({}))
    expect(vault.writes).toEqual(['park'])
  })
})

describe('a refresh without a definite answer', () => {
  const unclear: Array<[string, Reply | Error]> = [
    ['a 500', { status: 500, body: 'oops' }],
    ['a lost answer', Object.assign(new Error('gone'), { code: 'ECONNRESET' })],
    [
      'an HTML page',
      { status: 200, body: '<html>maintenance</html>', headers: { 'content-type': 'text/html' } },
    ],
    ['an empty access token', { status: 200, body: { access_token: '' } }],
    ['a refused client', { status: 401, body: { error: 'invalid_client' } }],
    ['a 500 that says invalid_grant', { status: 500, body: { error: 'invalid_grant' } }],
  ]
  it.each(unclear)('never ends the login on %s', async (_name, reply) => {
    const vault = makeMemoryVault({ 1: makeCredentials(ago(4 * DAY)) })
    const { service, requests } = openTestService((one) => (isToken(one) ? reply : { body: INFO }), { vault })
    const account = service.forAccount(ACCOUNT)
    expect((await account.fetchTrainingInfo({})).value.status).toBe('Fresh')
    expect(vault.rows.get(1)).toMatchObject({ needsLogin: false, failures: 1, accessToken: 'access-0' })
    await account.fetchTrainingInfo({})
    expect(requests.filter(isToken)).toHaveLength(1)
  })

  it('waits longer after each failure, and recovers', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(ago(4 * DAY)) })
    let down = true
    const rotating = makeRotating({ access: 'access-0', refresh: 'refresh-0' })
    const { service, clock, requests } = openTestService(
      (one) => (isToken(one) && down ? { status: 503, body: '' } : rotating(one)),
      { vault },
    )
    const account = service.forAccount(ACCOUNT)
    const pauses: number[] = []
    for (let round = 1; round <= 3; round += 1) {
      await account.fetchTrainingInfo({})
      const pause = (vault.rows.get(1)?.notBefore?.getTime() ?? 0) - clock.now().getTime()
      pauses.push(pause)
      clock.advance(pause + 1)
    }
    expect(pauses).toEqual([15_000, 45_000, 135_000])
    down = false
    await account.fetchTrainingInfo({})
    expect(vault.rows.get(1)).toMatchObject({ accessToken: 'access-1', failures: 0, notBefore: undefined })
    expect(requests.filter(isToken)).toHaveLength(4)
  })

  it('makes no attempt before the stored time, even for a refused token', async () => {
    const row = makeCredentials(START, { failures: 3, notBefore: new Date(START.getTime() + HOUR) })
    const vault = makeMemoryVault({ 1: row })
    const { service, requests } = openTestService(() => ({ status: 401, body: {} }), { vault })
    const account = service.forAccount(ACCOUNT)
    expect(await errorOf(account.fetchTrainingInfo({}))).toMatchObject({
      name: 'TransientError',
      code: 'refresh_pending',
    })
    await errorOf(account.fetchTrainingInfo({}))
    expect(requests.map((one) => one.path)).toEqual(['/oauth/training_info', '/oauth/workouts'])
  })

  it.each(['has run out', 'was refused'])(
    'is tried again at once for a person whose token %s',
    async (what) => {
      const pause = { failures: 3, notBefore: new Date(START.getTime() + HOUR) }
      const row = makeCredentials(what === 'was refused' ? START : ago(8 * DAY), pause)
      const rotating = makeRotating({ access: 'gone', refresh: 'refresh-0' })
      const vault = makeMemoryVault({ 1: row })
      const { service } = openTestService(rotating, { vault, byHand: true })
      expect((await service.forAccount(ACCOUNT).fetchTrainingInfo({})).value.status).toBe('Fresh')
      expect(vault.rows.get(1)).toMatchObject({ accessToken: 'access-1', failures: 0, notBefore: undefined })
    },
  )

  it('is attempted once in a process for a person, and reports its failure', async () => {
    const notBefore = new Date(START.getTime() + HOUR)
    const vault = makeMemoryVault({ 1: makeCredentials(ago(8 * DAY), { failures: 3, notBefore }) })
    const down = { status: 503, body: '' }
    const { service, requests } = openTestService(() => down, { vault, byHand: true })
    const account = service.forAccount(ACCOUNT)
    expect((await errorOf(account.fetchTrainingInfo({}))).message).toMatch(/status 503/)
    expect((await errorOf(account.fetchTrainingInfo({}))).message).toMatch(/the next attempt comes .* after/)
    expect(requests).toHaveLength(1)
  })

  it('throws a TransientError when the old token has expired', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(ago(8 * DAY)) })
    const { service, requests } = openTestService(() => ({ status: 500, body: '' }), { vault })
    const error = await errorOf(service.forAccount(ACCOUNT).fetchTrainingInfo({}))
    expect(error).toMatchObject({ name: 'TransientError', code: 'refresh_pending' })
    expect(error.cause).toMatchObject({ code: 'server_error' })
    expect(requests).toHaveLength(1)
  })
})

describe('a clock that was ahead and is right again', () => {
  const later = new Date(START.getTime() + 7 * DAY)

  it.each([
    ['a failed refresh', { failures: 3 }],
    ['refused tokens', { refusals: 1, refusedSince: later }],
  ])('ends no pause of %s later', async (_what, state) => {
    const vault = makeMemoryVault({ 1: makeCredentials(ago(8 * DAY), { ...state, notBefore: later }) })
    const { service } = openTestService(makeRotating({ access: 'gone', refresh: 'refresh-0' }), { vault })
    expect((await service.forAccount(ACCOUNT).fetchTrainingInfo({})).value.status).toBe('Fresh')
  })

  it('makes a pair newer than the last one, whose refusal counts from now', async () => {
    const since = { refusals: 1, refusedSince: later }
    const vault = makeMemoryVault({ 1: makeCredentials(later, since) })
    const { service } = openTestService(
      (one) => (isToken(one) ? { body: tokenBody(1) } : { status: 401, body: {} }),
      { vault },
    )
    await errorOf(service.forAccount(ACCOUNT).fetchTrainingInfo({}))
    expect(vault.rows.get(1)).toMatchObject({ accessToken: 'access-1', refusals: 2, refusedSince: START })
    expect(vault.rows.get(1)?.obtainedAt.getTime()).toBeGreaterThan(later.getTime())
  })
})

describe('tokens whose comparison with the account is refused with 401', () => {
  it.each([
    ['accepts', { body: INFO }],
    ['fails on', { status: 404, body: {} }],
  ])('refuse neither a file nor an activity while another endpoint %s them', async (_what, elsewhere) => {
    const vault = makeMemoryVault({ 1: makeCredentials(START, { isRiderCompared: false }) })
    const findEvidence = async () => ({
      ...(await vault.findEvidence(1)),
      ...{ paths: ['ride'], from: START, to: START },
    })
    const { service, requests } = openTestService(
      (one) => {
        if (isToken(one)) return { body: tokenBody(1) }
        return one.path.startsWith('/oauth/activity') ? { status: 401, body: {} } : elsewhere
      },
      { vault: { ...vault, findEvidence } },
    )
    const account = service.forAccount(ACCOUNT)
    const pending = { name: 'TransientError', code: 'rider_pending', requestSent: false }
    const file = { fileName: 'a.fit', bytes: Buffer.from('fit') }
    expect(await errorOf(account.uploadFit(file))).toMatchObject(pending)
    expect(await errorOf(account.fetchActivity('ride', { samples: false }))).toMatchObject(pending)
    expect(requests.map(({ path }) => path)).not.toContain('/oauth/upload')
  })
})

describe('a parked account', () => {
  it('throws without a request once its token has expired', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(ago(8 * DAY), { needsLogin: true }) })
    const { service, requests } = openTestService(() => ({ body: INFO }), { vault })
    expect(await errorOf(service.forAccount(ACCOUNT).fetchTrainingInfo({}))).toMatchObject({
      code: 'needs_login',
    })
    expect(requests).toEqual([])
  })

  it('works again after a person has signed in', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(ago(8 * DAY), { needsLogin: true }) })
    const { service } = openTestService(() => ({ body: INFO }), { vault })
    const account = service.forAccount(ACCOUNT)
    await errorOf(account.fetchTrainingInfo({}))
    vault.rows.set(1, makeCredentials(START, { accessToken: 'access-5' }))
    expect((await account.fetchTrainingInfo({})).value.status).toBe('Fresh')
  })

  it('never requests tokens after its old access token was refused', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(START, { needsLogin: true }) })
    const { service, requests } = openTestService(() => ({ status: 401, body: {} }), { vault })
    const account = service.forAccount(ACCOUNT)
    await errorOf(account.fetchTrainingInfo({}))
    expect(await errorOf(account.fetchTrainingInfo({}))).toMatchObject({ code: 'needs_login' })
    expect(requests.map((one) => one.path)).toEqual(['/oauth/training_info', '/oauth/workouts'])
  })

  it('behaves like an account that never signed in', async () => {
    const { service, requests } = openTestService(() => ({ body: INFO }), { vault: makeMemoryVault() })
    expect(await errorOf(service.forAccount(ACCOUNT).listWorkouts())).toMatchObject({ code: 'needs_login' })
    expect(requests).toEqual([])
  })
})

describe('refreshTokenIfDue', () => {
  it('says fresh, refreshed or parked', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(START) })
    const { service, clock } = openTestService(makeRotating({ access: 'access-0', refresh: 'refresh-0' }), {
      vault,
    })
    const account = service.forAccount(ACCOUNT)
    expect(await account.refreshTokenIfDue()).toBe('fresh')
    clock.advance(3.6 * DAY)
    expect(await account.refreshTokenIfDue()).toBe('refreshed')
    expect(await account.refreshTokenIfDue()).toBe('fresh')
    vault.rows.set(1, makeCredentials(ago(4 * DAY), { refreshToken: 'stolen' }))
    expect(await account.refreshTokenIfDue()).toBe('parked')
    expect(await account.refreshTokenIfDue()).toBe('parked')
  })

  it('is fresh while a failed refresh waits and the old token lasts', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(ago(4 * DAY)) })
    const { service } = openTestService(() => ({ status: 500, body: '' }), { vault })
    expect(await service.forAccount(ACCOUNT).refreshTokenIfDue()).toBe('fresh')
    expect(await service.forAccount(ACCOUNT).refreshTokenIfDue()).toBe('fresh')
    expect(vault.writes).toEqual(['failure'])
  })
})

describe('a stop during a refresh', () => {
  it('ends the waiting of the caller, and stores the new pair before the client is closed', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(START) })
    const stop = new AbortController()
    const rotating = makeRotating({ access: 'gone', refresh: 'refresh-0' })
    const { service } = openTestService(
      (one) => {
        if (isToken(one)) stop.abort()
        return rotating(one)
      },
      { vault },
    )
    const error = await errorOf(service.forAccount(ACCOUNT).fetchTrainingInfo({}, stop.signal))
    expect(isAbort(error, stop.signal)).toBe(true)
    await service.close()
    expect(vault.rows.get(1)).toMatchObject({ accessToken: 'access-1', refreshToken: 'refresh-1' })
  })
})

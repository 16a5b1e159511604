import { describe, expect, it } from 'vitest'
import { DAY, HOUR } from '../../../src/kit/time.ts'
import { makeCredentials, makeMemoryVault } from './memory-vault.ts'
import { ACCOUNT, CLIENT, openTestService, type Reply, type SentRequest } from './open-test-service.ts'

const INFO = { success: true, status: 'Fresh' }
const START = new Date('2024-05-01T12:00:00Z')
const RECEIVED = 'r1'

/** Token answers with a good refresh token and something odd; the refresh token that each of them gives. */
const ODD_ACCESS: ReadonlyArray<[string, string, string]> = [
  ['an empty access token', '{"access_token":"","refresh_token":"r1"}', 'r1'],
  ['no access token', '{"refresh_token":"r1"}', 'r1'],
  ['an access token that is null', '{"access_token":null,"refresh_token":"r1"}', 'r1'],
  ['an access token that is a number', '{"access_token":12345,"refresh_token":"r1"}', 'r1'],
  ['an access token that is true', '{"access_token":true,"refresh_token":"r1"}', 'r1'],
  ['an access token that is a list', '{"access_token":["a"],"refresh_token":"r1"}', 'r1'],
  ['an access token that is an object', '{"access_token":{"a":1},"refresh_token":"r1"}', 'r1'],
  ['an access token with a line break', '{"access_token":"a\\nb","refresh_token":"r1"}', 'r1'],
  ['an access token with a blank', '{"access_token":"a b","refresh_token":"r1"}', 'r1'],
  ['an access token that is not ASCII', '{"access_token":"clé","refresh_token":"r1"}', 'r1'],
  ['an access token with a NUL', '{"access_token":"a\\u0000","refresh_token":"r1"}', 'r1'],
  [
    'a refresh token that is a number',
    '{"access_token":"","refresh_token":9007199254740993123}',
    '9007199254740993123',
  ],
  ['a refresh token that is not ASCII', '{"access_token":"","refresh_token":"clé\\n"}', 'clé\n'],
  [
    'a very long refresh token',
    `{"access_token":"","refresh_token":"${'r'.repeat(20_000)}"}`,
    'r'.repeat(20_000),
  ],
  [
    'an odd access token and an odd expires_in',
    '{"access_token":1,"refresh_token":"r1","expires_in":"soon"}',
    'r1',
  ],
]

/** Odd answers whose access token is good. */
const GOOD_ACCESS: ReadonlyArray<[string, string]> = [
  ['no token_type', '{"access_token":"good","refresh_token":"r1"}'],
  ['an odd token_type', '{"access_token":"good","refresh_token":"r1","token_type":7}'],
  ['an expires_in that is a text', '{"access_token":"good","refresh_token":"r1","expires_in":"604800"}'],
  ['an expires_in that is null', '{"access_token":"good","refresh_token":"r1","expires_in":null}'],
  ['an error word beside good tokens', '{"access_token":"good","refresh_token":"r1","error":"odd"}'],
  ['a very long access token', `{"access_token":"${'a'.repeat(9_000)}","refresh_token":"r1"}`],
]

/** A service that gives `first` once, and a good pair for the refresh token of it; every other refresh token is spent. */
function makeService(first: string, received = RECEIVED, odd = 1) {
  let given = 0
  return (request: SentRequest): Reply => {
    if (request.path !== '/oauth/token') return { body: INFO }
    const form = new URLSearchParams(request.body)
    if (
      form.get('grant_type') === 'refresh_token' &&
      form.get('refresh_token') !== (given ? received : 'refresh-0')
    )
      return { status: 400, body: { error: 'invalid_grant' } }
    given += 1
    return {
      body: given <= odd ? first : { access_token: 'good', refresh_token: received, expires_in: 604_800 },
    }
  }
}

const old = () => makeMemoryVault({ 1: makeCredentials(new Date(START.getTime() - 8 * DAY)) })

describe('a pair survives', () => {
  it.each(ODD_ACCESS)('a refresh that is answered with %s', async (_what, body, received) => {
    const vault = old()
    const { service } = openTestService(makeService(body, received), { vault })
    expect((await service.forAccount(ACCOUNT).fetchTrainingInfo({})).value.status).toBe('Fresh')
    expect(vault.rows.get(1)).toMatchObject({ accessToken: 'good', refreshToken: received, failures: 0 })
    // The first pair was stored before its refresh token was used.
    expect(vault.writes).toEqual(['save', 'save'])
  })

  it.each(ODD_ACCESS)('a login that is answered with %s', async (_what, body, received) => {
    const login = () => openTestService(makeService(body, received)).service
    const byPassword = await login().requestLogin(CLIENT, { type: 'password', username: 'u', password: 'p' })
    const byCode = await login().requestLogin(CLIENT, {
      type: 'authorization_code',
      code: 'c',
      redirectUri: 'http://127.0.0.1/cb',
    })
    for (const pair of [byPassword, byCode])
      expect(pair).toMatchObject({ accessToken: 'good', refreshToken: received })
  })

  it.each(GOOD_ACCESS)('an answer with %s, which needs no second refresh', async (_what, body) => {
    const vault = old()
    const { service } = openTestService(makeService(body), { vault })
    await service.forAccount(ACCOUNT).fetchTrainingInfo({})
    expect(vault.writes).toEqual(['save'])
    expect(vault.rows.get(1)?.refreshToken).toBe(RECEIVED)
    const pair = await service.requestLogin(CLIENT, { type: 'password', username: 'u', password: 'p' })
    expect(pair.refreshToken).toBe(RECEIVED)
  })

  it('odd second answers, after growing pauses', async () => {
    const vault = old()
    const body = '{"access_token":"","refresh_token":"r1"}'
    const { service, requests, clock } = openTestService(makeService(body, RECEIVED, 6), { vault })
    const account = service.forAccount(ACCOUNT)
    const pauses: number[] = []
    for (let round = 1; round <= 3; round += 1) {
      await expect(account.fetchTrainingInfo({})).rejects.toMatchObject({ code: 'refresh_pending' })
      await expect(account.fetchTrainingInfo({})).rejects.toMatchObject({ code: 'refresh_pending' })
      expect(requests).toHaveLength(2 * round)
      const pause = (vault.rows.get(1)?.notBefore?.getTime() ?? 0) - clock.now().getTime()
      pauses.push(pause)
      clock.advance(pause + 1)
    }
    expect(pauses).toEqual([15_000, 45_000, 135_000])
    expect(vault.rows.get(1)).toMatchObject({ refreshToken: RECEIVED, needsLogin: false, failures: 3 })
    expect((await account.fetchTrainingInfo({})).value.status).toBe('Fresh')
    expect(vault.rows.get(1)).toMatchObject({ accessToken: 'good', failures: 0 })
  })

  it('a login with an odd second answer: the first use refreshes it', async () => {
    const { service } = openTestService(makeService('{"refresh_token":"r1"}', RECEIVED, 2))
    const pair = await service.requestLogin(CLIENT, { type: 'password', username: 'u', password: 'p' })
    expect(pair).toMatchObject({ accessToken: '', refreshToken: RECEIVED, expiresAt: pair.obtainedAt })
    const vault = makeMemoryVault({ 1: makeCredentials(START, pair) })
    const later = openTestService(makeService('', RECEIVED, -1), { vault })
    vault.rows.set(1, { ...makeCredentials(START, pair), refreshToken: 'refresh-0' })
    expect((await later.service.forAccount(ACCOUNT).fetchTrainingInfo({})).value.status).toBe('Fresh')
  })

  it('answers with only a refresh token, while the old access token is used', async () => {
    const vault = makeMemoryVault({ 1: makeCredentials(new Date(START.getTime() - 4 * DAY)) })
    const { service, clock } = openTestService(makeService('{"refresh_token":"r1"}', RECEIVED, 2), { vault })
    const account = service.forAccount(ACCOUNT)
    expect((await account.fetchTrainingInfo({})).value.status).toBe('Fresh')
    expect(vault.rows.get(1)).toMatchObject({ accessToken: 'access-0', refreshToken: RECEIVED, failures: 1 })
    clock.advance(HOUR)
    await account.fetchTrainingInfo({})
    expect(vault.rows.get(1)).toMatchObject({ accessToken: 'good', failures: 0 })
  })
})

it.each([
  [
    'an error word without tokens',
    { error: 'server_error', access_token: '', refresh_token: 'r1' },
    'refresh-0',
  ],
  ['nothing new', { access_token: '' }, 'refresh-0'],
])('an answer with %s gives no pair, and the old one is kept', async (_what, body, kept) => {
  const vault = old()
  const { service } = openTestService(() => ({ body }), { vault })
  await expect(service.forAccount(ACCOUNT).fetchTrainingInfo({})).rejects.toMatchObject({
    code: 'refresh_pending',
  })
  expect(vault.writes).toEqual(['failure'])
  expect(vault.rows.get(1)?.refreshToken).toBe(kept)
})

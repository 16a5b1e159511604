import { describe, expect, it } from 'vitest'
import { DAY } from '../../../src/kit/time.ts'
import { makeCredentials, makeMemoryVault } from './memory-vault.ts'
import { CLIENT, CODE, openTestService, PASSWORD, type Reply, type SentRequest } from './open-test-service.ts'

const INFO = { success: true, status: 'Fresh' }
const START = new Date('2024-05-01T12:00:00Z')
const RECEIVED = 'r1'

/** Token responses with a good refresh token but a malformed access token, and the refresh token that each gives. */
const ODD_ACCESS: ReadonlyArray<[answer: string, received: string]> = [
  // Empty, missing, of another type; with a line break, not ASCII.
  ['{"access_token":"","refresh_token":"r1"}', 'r1'],
  ['{"refresh_token":"r1"}', 'r1'],
  ['{"access_token":12345,"refresh_token":"r1"}', 'r1'],
  ['{"access_token":["a"],"refresh_token":"r1"}', 'r1'],
  ['{"access_token":"a\\nb","refresh_token":"r1"}', 'r1'],
  ['{"access_token":"clé","refresh_token":"r1"}', 'r1'],
  ['{"access_token":"","refresh_token":9007199254740993123}', '9007199254740993123'],
  ['{"access_token":"","refresh_token":"clé\\n"}', 'clé\n'],
  [`{"access_token":"","refresh_token":"${'r'.repeat(20_000)}"}`, 'r'.repeat(20_000)],
  ['{"access_token":1,"refresh_token":"r1","expires_in":"soon"}', 'r1'],
]

/** Malformed responses with a good access token. */
const GOOD_ACCESS = [
  '{"access_token":"good","refresh_token":"r1","token_type":7}',
  '{"access_token":"good","refresh_token":"r1","error":"odd"}',
  `{"access_token":"${'a'.repeat(9_000)}","refresh_token":"r1"}`,
]

/** Makes a service that gives `first` once, then a good pair for its refresh token; every other refresh token is spent. */
function makeService(first: string, received = RECEIVED, odd = 1) {
  let given = 0
  const good = { access_token: 'good', refresh_token: received, expires_in: 604_800 }
  return (request: SentRequest): Reply => {
    if (request.path !== '/oauth/token') return { body: INFO }
    const form = new URLSearchParams(request.body)
    const isSpent = form.get('refresh_token') !== (given ? received : 'refresh-0')
    if (form.get('grant_type') === 'refresh_token' && isSpent)
      return { status: 400, body: { error: 'invalid_grant' } }
    given += 1
    return { body: given <= odd ? first : good }
  }
}

const old = () => makeMemoryVault({ 1: makeCredentials(new Date(START.getTime() - 8 * DAY)) })

describe('a token pair survives', () => {
  it.each(ODD_ACCESS)('a refresh answered with %s', async (body, received) => {
    const vault = old()
    const { account } = openTestService(makeService(body, received), { vault })
    expect((await account.fetchTrainingInfo({})).value.status).toBe('Fresh')
    expect(vault.rows.get(1)).toMatchObject({ accessToken: 'good', refreshToken: received, failures: 0 })
    // The first pair was stored before its refresh token was used.
    expect(vault.writes).toEqual(['save', 'save'])
  })

  it.each(ODD_ACCESS)('a login answered with %s', async (body, received) => {
    for (const grant of [PASSWORD, CODE]) {
      const pair = await openTestService(makeService(body, received)).service.requestLogin(CLIENT, grant)
      expect(pair).toMatchObject({ accessToken: 'good', refreshToken: received })
    }
  })

  it.each(GOOD_ACCESS)('the answer %s, which needs no second refresh', async (body) => {
    const vault = old()
    const { service, account } = openTestService(makeService(body), { vault })
    await account.fetchTrainingInfo({})
    expect(vault.writes).toEqual(['save'])
    expect(vault.rows.get(1)?.refreshToken).toBe(RECEIVED)
    const pair = await service.requestLogin(CLIENT, PASSWORD)
    expect(pair.refreshToken).toBe(RECEIVED)
  })

  it('malformed second responses, after growing pauses', async () => {
    const vault = old()
    const body = '{"access_token":"","refresh_token":"r1"}'
    const { account, requests, clock } = openTestService(makeService(body, RECEIVED, 6), { vault })
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

  it('a login whose second response is malformed; the first use refreshes it', async () => {
    const { service } = openTestService(makeService('{"refresh_token":"r1"}', RECEIVED, 2))
    const pair = await service.requestLogin(CLIENT, PASSWORD)
    expect(pair).toMatchObject({ accessToken: '', refreshToken: RECEIVED, expiresAt: pair.obtainedAt })
    const vault = makeMemoryVault({ 1: makeCredentials(START, pair) })
    const later = openTestService(makeService('', RECEIVED, -1), { vault })
    vault.rows.set(1, { ...makeCredentials(START, pair), refreshToken: 'refresh-0' })
    expect((await later.account.fetchTrainingInfo({})).value.status).toBe('Fresh')
  })
})

it.each([{ error: 'server_error', access_token: '', refresh_token: 'r1' }, { access_token: '' }])(
  'the response %j gives no pair, and the old pair is kept',
  async (body) => {
    const vault = old()
    const { account } = openTestService(() => ({ body }), { vault })
    await expect(account.fetchTrainingInfo({})).rejects.toMatchObject({ code: 'refresh_pending' })
    expect(vault.writes).toEqual(['failure'])
    expect(vault.rows.get(1)?.refreshToken).toBe('refresh-0')
  },
)

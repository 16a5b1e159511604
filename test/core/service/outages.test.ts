import { expect, it } from 'vitest'
import { HOUR } from '../../../src/kit/time.ts'
import { makeCredentials, makeMemoryVault } from './memory-vault.ts'
import { ACCOUNT, makeTestClock, openTestService, type Reply, tokenBody } from './open-test-service.ts'

const INFO = { body: { success: true, status: 'Fresh' } }
const lost = (code: string) => Object.assign(new Error('gone'), { code })
const at = makeTestClock().now()
const due = makeCredentials(new Date(at.getTime() - 100 * HOUR))

it.each<[string, () => Reply | Error, number]>([
  ['a refused connection', () => lost('ECONNREFUSED'), 1],
  ['a lost connection', () => lost('ECONNRESET'), 1],
  ['a status of 503', () => ({ status: 503 }), 1],
  ['a status of 404', () => ({ status: 404 }), 0],
  ['HTML', () => ({ body: '<html>', headers: { 'content-type': 'text/html' } }), 0],
])(
  'an outage is logged once at its start and once at its end, for all accounts: %s',
  async (_, fail, times) => {
    let isDown = false
    const vault = makeMemoryVault({ 1: due, 2: due, 3: due })
    const { service, lines, clock } = openTestService(
      ({ path }) => (isDown ? fail() : path === '/oauth/token' ? { body: tokenBody(1) } : INFO),
      { vault },
    )
    const accounts = [1, 2, 3].map((accountId) =>
      service.forAccount({ ...ACCOUNT, accountId, name: `rider${accountId}` }),
    )
    const round = async () => {
      for (const account of accounts) await account.fetchTrainingInfo({}).catch(() => undefined)
      clock.advance(HOUR)
    }
    for (const down of [true, true, true, false, false, true, true, false]) {
      isDown = down
      await round()
    }
    const told = lines
      .map((line) => JSON.parse(line) as { level: number; msg: string })
      .filter(({ level, msg }) => level >= 30 && /does not answer/.test(msg))
    const sentence = 'the service at https://service.test does not answer; musette retries requests by itself'
    const once = [sentence, `over: ${sentence}`]
    expect(told.map(({ msg }) => msg)).toEqual(times === 0 ? [] : [...once, ...once])
    const others = lines.map((line) => JSON.parse(line)).filter(({ level }) => level > 30)
    if (times > 0) expect(others).toHaveLength(2)
  },
)

it('a failure of one object does not count as an outage', async () => {
  const { account, lines } = openTestService(({ path }) => (path.includes('bad') ? { status: 500 } : INFO))
  for (let round = 0; round < 5; round += 1) {
    await account.fetchActivity('bad', { samples: false }).catch(() => undefined)
    await account.fetchTrainingInfo({})
  }
  expect(lines.join()).not.toContain('does not answer')
})

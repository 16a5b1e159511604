import { describe, expect, it } from 'vitest'
import { parseRedisUrl, redisCliAddress } from '../../../src/kit/redis/redis-url.ts'
import { fitCommand } from '../../../src/program/app/remedy.ts'
import { printConfig } from '../../../src/program/cli/verbs/config.ts'
import { readSettings } from '../../kit/config.ts'

type Row = [url: string, hosts: string, options: object, more: object, cli: string]

/** A URL, where it leads and as whom, and how redis-cli is given its address. */
const TAKEN: readonly Row[] = [
  ['redis://h', 'h 6379', {}, {}, 'redis://h:6379'],
  ['redis://', '127.0.0.1 6379', {}, {}, 'redis://127.0.0.1:6379'],
  ['redis://h:1/2', 'h 1', { db: 2 }, {}, 'redis://h:1/2'],
  [
    'rediss://u:hunter2%40@[::1]:1?family=6',
    '::1 1',
    { username: 'u', password: 'hunter2@', family: 6 },
    { isTls: true },
    `'rediss://[::1]:1' --user u --askpass`,
  ],
  [
    'redis://:hunter2@h1:1,h2?prefix=club:',
    'h1 1,h2 6379',
    { password: 'hunter2' },
    { prefix: 'club:' },
    'redis://h1:1 --askpass',
  ],
  [
    'redis-sentinel://:hunter2@h1,h2:1/3#my-club',
    'h1 26379,h2 1',
    { password: 'hunter2', db: 3 },
    { group: 'my-club' },
    '"redis://$(redis-cli -u redis://h1:26379 sentinel get-master-addr-by-name my-club | tail -n 2 | paste -sd : -)/3" --askpass',
  ],
  [
    'rediss-sentinel://h1?sentinelUsername=s&sentinelPassword=hunter2#club',
    'h1 26379',
    { sentinelUsername: 's', sentinelPassword: 'hunter2' },
    { group: 'club', isTls: true, sentinelLogin: { username: 's', password: 'hunter2' } },
    '"rediss://$(redis-cli -u rediss://h1:26379 --user s --askpass sentinel get-master-addr-by-name club | tail -n 2 | paste -sd : -)"',
  ],
]

const FORM =
  'REDIS_URL is not a Redis URL; write for example redis://host:6379, or redis-sentinel://host:26379,host:26379/0#name'
const RAW = 'REDIS_URL has one of the characters @ # % / ? in user or password'
const REFUSED: ReadonlyArray<[text: string, sentence: string]> = [
  ['redis-sentinel://hunter2:1', FORM],
  ['redis-sentinel://hunter2:1#', FORM],
  ['http://hunter2', FORM],
  ['redis://hunter2:port', FORM],
  ['redis://h/hunter2', FORM],
  ['redis://h1,:1?hunter2', FORM],
  ...['%', '/', '#', '?', '@', '1/', '1?x'].flatMap(
    (raw): Array<[string, string]> => [
      [`redis://u:${raw}hunter2@h1:1,h2:2/0`, RAW],
      [`rediss-sentinel://:${raw}hunter2@h1:1,h2:2/0#club`, RAW],
      [`redis-sentinel://h1/0?sentinelPassword=hunter2${raw}@#club`, RAW],
    ],
  ),
  ['redis://h?prefix={hunter2}', 'REDIS_URL has a prefix with other signs than letters, digits and . : _ -'],
  ['redis://h?prefix=hunter2*', 'REDIS_URL has a prefix with other signs than letters, digits and . : _ -'],
]

async function show(value: string) {
  const settings = readSettings({ REDIS_URL: value })
  const shown: string[] = []
  const print = (line: string) => void shown.push(line)
  const printJson = (answer: unknown) => print(JSON.stringify(answer))
  for (const json of [true, false]) await printConfig({ settings, print, note: print, printJson }, { json })
  return { config: settings.config, shown: shown.join('\n') }
}

describe('the URL of Redis', () => {
  it.each(TAKEN)('leads to its servers and shows no secret: %s', async (url, hosts, options, more, cli) => {
    const parsed = parseRedisUrl(url)
    expect(parsed?.hosts.map(({ host, port }) => `${host} ${port}`).join()).toBe(hosts)
    expect(parsed?.options).toEqual(options)
    expect(parsed).toMatchObject(more)
    const { shown, config } = await show(url)
    expect(config.redisUrl).toBe(url)
    expect(shown).not.toContain('hunter2')
    expect(redisCliAddress(url)).toBe(cli)
    expect(fitCommand('redis-cli -u "$REDIS_URL" ping', config)).toBe(`redis-cli -u ${cli} ping`)
  })

  it.each(REFUSED)('is refused without a part of it in the message: %s', async (text, sentence) => {
    const { shown } = await show(text)
    expect(shown).toContain(`musette: ${sentence}`)
    expect(shown).not.toContain('hunter2')
  })
})

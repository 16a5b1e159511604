import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { readHosts } from '../../../src/kit/postgres-url.ts'
import { parseRedisUrl } from '../../../src/kit/redis/redis-url.ts'
import { fitCommand } from '../../../src/program/app/remedy.ts'
import { printConfig } from '../../../src/program/cli/verbs/config.ts'
import type { Settings } from '../../../src/program/config/config.ts'
import { EXIT } from '../../../src/program/frame/context.ts'
import { readSettings } from '../../kit/config.ts'

/** A URL as psql takes it, and where the driver goes with it: user, password, database and hosts, in their order. */
const TAKEN: ReadonlyArray<[url: string, login: string, database: string, ...hosts: string[]]> = [
  ['postgres://u:p@h/d', 'u p', 'd', 'h 5432'],
  ['postgresql://u:p%40%23%25%2F@h:5433/d', 'u p@#%/', 'd', 'h 5433'],
  ['postgres://u:p@[::1]:5433/d', 'u p', 'd', '::1 5433'],
  ['postgres://h/d?user=a@b&password=p', 'a@b p', 'd', 'h 5432'],
  ['postgres:///d?host=/run/postgresql&port=5433&user=u&password=p', 'u p', 'd', '/run/postgresql 5433'],
  ['postgres://u@h/other?dbname=my%20d&password=p%20q&sslmode=disable', 'u p q', 'my d', 'h 5432'],
  ['postgres://u:p@h1:5433,h2,[::1]:5434/d', 'u p', 'd', 'h1 5433', 'h2 5432', '::1 5434'],
  ['postgres://u:p@h1,h2/d?target_session_attrs=read-write&port=5433', 'u p', 'd', 'h1 5433', 'h2 5433'],
  ['postgres://u:p@%2Frun%2Fpostgresql,h2:5433/d', 'u p', 'd', '/run/postgresql 5432', 'h2 5433'],
  ['postgres://u:p@/d?host=h1,/run&port=5433,5434', 'u p', 'd', 'h1 5433', '/run 5434'],
  ['postgres://u:p@h:5433/other?dbname=d&host=h1,h2&port=5434', 'u p', 'd', 'h1 5434', 'h2 5434'],
]

const REDIS_FORM =
  'REDIS_URL is not a Redis URL; write for example redis://host:6379, or redis-sentinel://host:26379,host:26379/0#name'
const RAW =
  'DATABASE_URL has one of the characters @ # % / ? in user or password; write it percent-encoded: %40, %23, %25, %2F, %3F'
/** Texts that are refused, which begin with the variable's name where it is another one. */
const REFUSED: ReadonlyArray<[text: string, sentence: string]> = [
  ...['@', '#', '%', '/', '?', '%zz', 'a@b/c', '1/', '1?x@'].map((raw): [string, string] => [
    `postgres://u:${raw}hunter2@h:5432/d`,
    RAW,
  ]),
  ['postgres://hunter2#x:p@h1,h2/d', RAW],
  ['postgres://u:p@h1,h2/d?password=hunter2#x', RAW],
  ['postgres://u:hunter2@h:port/d', 'DATABASE_URL'],
  ['postgres://u:p@h1,h2/d?target_session_attrs=hunter2', 'DATABASE_URL'],
  ['host=h password=hunter2', 'DATABASE_URL is not a Postgres URL'],
  ['REDIS_URL=redis-sentinel://hunter2:1', REDIS_FORM],
  ['REDIS_URL=http://hunter2', REDIS_FORM],
  ['REDIS_URL=redis://h/hunter2', REDIS_FORM],
  [
    'REDIS_URL=redis://h?prefix={hunter2}',
    'REDIS_URL has a prefix with other signs than letters, digits and . : _ -',
  ],
  ...['%', '/', '#', '?'].flatMap(
    (raw): Array<[string, string]> => [
      [`REDIS_URL=redis://u:${raw}hunter2@h1:1,h2:2/0`, RAW.replace('DATABASE', 'REDIS')],
      [
        `REDIS_URL=redis-sentinel://h1/0?sentinelPassword=hunter2${raw}@#club`,
        RAW.replace('DATABASE', 'REDIS'),
      ],
      [`MUSETTE_MQTT_URL=mqtt://u:${raw}hunter2@h`, RAW.replace('DATABASE', 'MUSETTE_MQTT')],
      [`HTTPS_PROXY=http://u:${raw}hunter2@h:3128`, RAW.replace('DATABASE_URL', 'HTTPS_PROXY')],
    ],
  ),
]

type RedisRow = [url: string, hosts: string, options: object, more: object, cli: string]

/** A URL, where it leads and as whom, and how redis-cli is given its address. */
const REDIS: readonly RedisRow[] = [
  ['redis://h', 'h 6379', {}, {}, 'redis://h:6379'],
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

describe('the URL of a database', () => {
  it.each(TAKEN)('means what it means to psql: %s', (url, login, database, ...hosts) => {
    const { config, problems } = readSettings({ DATABASE_URL: url })
    expect(problems).toEqual([])
    const { databaseUrl = '' } = config
    const choice = /attrs=([\w-]+)/.exec(url)?.[1] ?? (hosts.length > 1 ? 'primary' : null)
    expect(new URL(databaseUrl).searchParams.get('target_session_attrs')).toBe(choice)
    const urls = readHosts(databaseUrl)?.hosts.map((host) => host.url) ?? [databaseUrl]
    const found = urls.map((each) => new pg.Client({ connectionString: each }))
    expect(found.map(({ host, port }) => `${host} ${port}`)).toEqual(hosts)
    // As psql reads the URL that it is given on: it knows no + for a space, and decodes a host once.
    expect(urls.join()).not.toContain('+')
    const named = urls.map((each) => new URL(each).searchParams.get('host')).filter((host) => host !== null)
    for (const [index, host] of named.entries()) expect(hosts[index]).toBe(`${host} ${found[index]?.port}`)
    for (const client of found) {
      expect(`${client.user} ${client.password}`).toBe(login)
      expect(client.database).toBe(database)
    }
  })

  it.each(REFUSED)('is refused without a part of it in the message: %s', async (text, sentence) => {
    const [, name = 'DATABASE_URL', value = text] = /^([A-Z_]+)=(.*)$/.exec(text) ?? []
    const shown = await showConfig(readSettings({ [name]: value }), EXIT.usage)
    expect(shown).toContain(`musette: ${sentence}`)
    expect(shown).not.toContain('hunter2')
  })
})

it.each(REDIS)(
  'the URL of Redis leads to its servers and shows no secret: %s',
  async (url, hosts, options, more, cli) => {
    const parsed = parseRedisUrl(url)
    expect(parsed?.hosts.map(({ host, port }) => `${host} ${port}`).join()).toBe(hosts)
    expect(parsed?.options).toEqual(options)
    expect(parsed).toMatchObject(more)
    const settings = readSettings({ REDIS_URL: url })
    expect(settings.config.redisUrl).toBe(url)
    expect(await showConfig(settings, EXIT.done)).not.toContain('hunter2')
    expect(fitCommand('redis-cli -u "$REDIS_URL" ping', settings.config)).toBe(`redis-cli -u ${cli} ping`)
  },
)

/** Returns all that `musette config` shows, as a table and as JSON. */
async function showConfig(settings: Settings, code: number): Promise<string> {
  const shown: string[] = []
  const print = (line: string) => void shown.push(line)
  const printJson = (answer: unknown) => print(JSON.stringify(answer))
  for (const json of [true, false])
    expect(await printConfig({ settings, print, note: print, printJson }, { json })).toBe(code)
  return shown.join('\n')
}

import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { readHosts } from '../../../src/kit/postgres-url.ts'
import { printConfig } from '../../../src/program/cli/verbs/config.ts'
import { EXIT } from '../../../src/program/frame/context.ts'
import { readSettings } from '../../kit/config.ts'

/** A URL as psql takes it, and where the driver goes with it: user, password, database and hosts, in their order. */
const TAKEN: ReadonlyArray<[url: string, login: string, database: string, ...hosts: string[]]> = [
  ['postgres://u:p@h/d', 'u p', 'd', 'h 5432'],
  ['postgresql://u:p%40%23%25%2F@h:5433/d', 'u p@#%/', 'd', 'h 5433'],
  ['postgres://u:p:q@h/d', 'u p:q', 'd', 'h 5432'],
  ['postgres://u:p@[::1]:5433/d', 'u p', 'd', '::1 5433'],
  ['postgres://h/d?user=a@b&password=p', 'a@b p', 'd', 'h 5432'],
  ['postgres://u:p@/d?host=/run/postgresql', 'u p', 'd', '/run/postgresql 5432'],
  ['postgres:///d?host=/run/postgresql&port=5433&user=u&password=p', 'u p', 'd', '/run/postgresql 5433'],
  ['postgres://u:p@%2Frun%2Fpostgresql/d', 'u p', 'd', '/run/postgresql 5432'],
  ['postgres://u:p@h:5433?dbname=d', 'u p', 'd', 'h 5433'],
  ['postgres://u@h/other?dbname=my%20d&password=p%20q&sslmode=disable', 'u p q', 'my d', 'h 5432'],
  ['postgres://u:p@h1:5433,h2,[::1]:5434/d', 'u p', 'd', 'h1 5433', 'h2 5432', '::1 5434'],
  ['postgres://u:p@h1,h2/d?target_session_attrs=read-write&port=5433', 'u p', 'd', 'h1 5433', 'h2 5433'],
  ['postgres://u:p@%2Frun%2Fpostgresql,h2:5433/d', 'u p', 'd', '/run/postgresql 5432', 'h2 5433'],
  ['postgres://u:p@/d?host=h1,/run&port=5433,5434', 'u p', 'd', 'h1 5433', '/run 5434'],
  ['postgres://u:p@h:5433/other?dbname=d&host=h1,h2&port=5434', 'u p', 'd', 'h1 5434', 'h2 5434'],
  ['postgres://u@h1,h2/d?password=p%20q', 'u p q', 'd', 'h1 5432', 'h2 5432'],
]

const RAW =
  'DATABASE_URL has one of the characters @ # % / ? in user or password; write it percent-encoded: %40, %23, %25, %2F, %3F'
/** Texts that are refused, which begin with the variable's name where it is another one. */
const REFUSED: ReadonlyArray<[text: string, sentence: string]> = [
  ...['@', '#', '%', '/', '?', '@/', '%zz', 'a@b/c', '1/', '1#', '1?x@'].map((raw): [string, string] => [
    `postgres://u:${raw}hunter2@h:5432/d`,
    RAW,
  ]),
  ['postgres://hunter2#x:p@h1,h2/d', RAW],
  ['postgres://u:p@h1,h2/d?password=hunter2#x', RAW],
  ['postgres://u:hunter2@h:port/d', 'DATABASE_URL'],
  ['postgres://u:p@h1,h2/d?target_session_attrs=hunter2', 'DATABASE_URL'],
  ['host=h password=hunter2', 'DATABASE_URL is not a Postgres URL'],
  ...['%', '/', '#', '?'].flatMap(
    (raw): Array<[string, string]> => [
      [`REDIS_URL=redis://:${raw}hunter2@h:6379/0`, RAW.replace('DATABASE', 'REDIS')],
      [`MUSETTE_MQTT_URL=mqtt://u:${raw}hunter2@h`, RAW.replace('DATABASE', 'MUSETTE_MQTT')],
      [`HTTPS_PROXY=http://u:${raw}hunter2@h:3128`, RAW.replace('DATABASE_URL', 'HTTPS_PROXY')],
    ],
  ),
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
    const settings = readSettings({ [name]: value })
    const shown: string[] = []
    const print = (line: string) => void shown.push(line)
    const context = {
      settings,
      print,
      note: print,
      printJson: (answer: unknown) => print(JSON.stringify(answer)),
    }
    for (const json of [true, false]) expect(await printConfig(context, { json })).toBe(EXIT.usage)
    expect(shown.join('\n')).toContain(`musette: ${sentence}`)
    expect(shown.join('\n')).not.toContain('hunter2')
  })
})

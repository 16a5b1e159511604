import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openStore } from '../../../src/core/store/store.ts'
import { TransientError } from '../../../src/kit/errors.ts'
import { openVisitorStore } from '../../../src/program/query/reading-store.ts'
import { fillAccounts, MARK } from '../../core/store/accounts-scene.ts'
import { quiet } from '../../core/store/open.ts'
import { runsWith } from '../../kit/binaries.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeTestLog } from '../../kit/log.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { openPooler, PGBOUNCER } from '../../kit/pooler.ts'
import { nameOfLogin, openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { openWebRig, type WebRig } from '../../program/web/rig.ts'
import { dropAssistantLogins } from '../mcp/guarded/rig.ts'

const WORLD = 'west=-180000000&east=180000000&south=-90000000&north=90000000'

/** Each route that reads for a visitor, an example address, and what the response shows of the second account or its activity 2. */
const READS: ReadonlyArray<readonly [route: string, address: string, shows: RegExp]> = [
  ['/today', '/api/today?account=2', /"today":\{"account_id":2/],
  ['/activities/list', '/api/activities/list', /of-somebody-else-ride/],
  ['/activities/calendar', '/api/activities/calendar', /"account":"of-somebody-else"/],
  ['/activities/:id', '/activities/2', /<title>Activity/],
  ['/activities/:id', '/api/activities/2', /of-somebody-else-ride/],
  ['/activities/:id/samples', '/api/activities/2/samples', /"power":\[101\]/],
  ['/activities/:id/samples/:field', '/api/activities/2/samples/tws', /"values":\[7\]/],
  ['/activities/:id/compared', '/api/activities/2/compared?span=all', /"points":\[/],
  ['/activities/:id/download', '/activities/2/download?format=csv', /,101,/],
  ['/fitness', '/api/fitness?account=2', /"account_id":2/],
  ['/map', '/api/map?account=2', /of-somebody-else-ride.*"track":/],
  ['/map/near', `/api/map/near?account=2&${WORLD}`, /"id":2/],
  ['/totals', '/api/totals?account=2', /"account_id":2/],
  ['/runs', '/api/runs', /of-somebody-else/],
  ['/drop/contents', `/api/drop/contents?account=${MARK}&ids=${'b'.repeat(64)}`, /of-somebody-else\.fit/],
  ['/workouts-of-the-day/:account', '/workouts-of-the-day/2.erg', /COURSE/],
  ['/workouts/:account', '/workouts/2.erg?path=own', /COURSE/],
]

/** The rows that these addresses read in addition to those of fillAccounts. */
const MORE = `
  insert into training.uploads (account_id, content_id, file_name, size_bytes, seen_at) values (2, repeat('b', 64), '${MARK}.fit', 1, now());
  update training.activities set start_lat = 47, start_lng = 8, south = 47, north = 47, west = 8, east = 8;
  update training.samples set tws = 7;
  insert into musette.ride_tracks (activity_id, account_id, sport, length_m, points, outline)
    select activity_id, account_id, 'cycling', 50, place, place from training.activities, decode('c029cd0200127a00', 'hex') place;
  insert into training.training_info (account_id, observed_at, last_seen_at, wotd_workout_id, wotd_name, status) values (2, now(), now(), 'w', 'w', 'Fresh');
  insert into training.workout_files (account_id, workout_id, format, content, sha256, fetched_at) values (2, 'w', 'erg', '[COURSE]', '', now());
  insert into training.workouts (account_id, path, name) values (2, 'own', 'own');
  insert into training.workout_definitions (account_id, path, name, resolved_at, signature) values (2, 'own', 'own', now(), '{"ftp": 200}');
  insert into training.workout_sets (account_id, path, position, power, duration, resolved_at) values (2, 'own', 0, 200, 60, now())`

describe('pages and their downloads', () => {
  let rig: WebRig
  const shown: Record<string, unknown[]> = {}
  beforeAll(async () => {
    rig = await openWebRig()
    await fillAccounts(rig.line.url, 1)
    await rig.rows(MORE)
    const ask = async (address: string, shows: RegExp) => {
      const { status, body } = await rig.ask(address, { headers: { accept: 'text/html' } })
      return status < 500 ? shows.test(body) && status === 200 : `${status} ${body}`
    }
    for (const [, address, shows] of READS) shown[address] = [await ask(address, shows)]
    await rig.rows(`insert into musette.held_logins
      select rolname, 1 from pg_roles where rolname = '${nameOfLogin(rig.line.url, 'pages')}'`)
    // The daemon caches a response for a second. If this times out, the test of the route below fails.
    const isRenewed = async () => (await ask('/api/runs', /of-somebody-else/)) === false
    await eventually(isRenewed, { timeoutMs: 5_000 }).catch(() => undefined)
    for (const [, address, shows] of READS) shown[address]?.push(await ask(address, shows))
  })
  afterAll(() => rig.close())

  it.each(READS)('read %s by a login that can be limited to one account: %s', (_, address) => {
    expect(shown[address]).toEqual([true, false])
  })

  it('are all in the table of routes', () => {
    const folder = 'src/features/dashboard/pages'
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
      /routes\.ts$/.test(path),
    )
    const routes = files.flatMap((path) =>
      [...readFileSync(`${folder}/${path}`, 'utf8').matchAll(/addView\(\s*scope,\s*'([^']+)'/g)].map(
        ([, route]) => route,
      ),
    )
    expect(routes.length).toBeGreaterThan(10)
    expect(routes.filter((route) => !READS.some(([known]) => known === route))).toEqual([])
  })
})

describe('the login that reads for a visitor', () => {
  const database = openForAll(openTestDatabase)
  const tag = randomBytes(4).toString('hex')
  const plain = `plain_${tag}`
  const urlOf = (name: string) =>
    Object.assign(new URL(database.url), { username: name, password: 'owns' }).href
  beforeAll(async () => {
    await fillAccounts(database.url, 1)
    await queryOnce(
      database.url,
      `create role ${plain} login password 'owns'; grant usage on schema training, musette to ${plain};
      grant select on all tables in schema training, musette to ${plain}`,
    )
  })
  afterAll(async () => {
    await dropAssistantLogins(database.url)
    await queryOnce(database.url, `drop owned by ${plain}; drop role ${plain}`)
  })

  const WHO = `select session_user::text as login, array(select name from training.accounts order by 1) as accounts,
    current_setting('statement_timeout') as timeout`
  const open = async (connectionString = database.url, account?: string) => {
    const { log, lines } = makeTestLog()
    const owner = await openForTest(openStore({ log: quiet }, { connectionString }))
    const place = { connectionString, account, maxConnections: 2 }
    const store = await openForTest(openVisitorStore({ log, owner }, place))
    const warnings = () => lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg)
    return {
      warnings,
      read: (text = WHO) => store.read(async ({ client }) => (await client.query(text)).rows[0]),
    }
  }
  const server = () => new URL('/postgres', database.url).href
  const pages = () => nameOfLogin(database.url, 'pages')

  it('reads only schema training, on few connections and without a timeout', async () => {
    const { read, warnings } = await open()
    const reads = await Promise.all(Array.from({ length: 8 }, () => read()))
    const row = { login: pages(), accounts: ['mine', MARK], timeout: '0' }
    expect(reads).toEqual(Array.from({ length: 8 }, () => row))
    const opened = `select count(*)::int as n from pg_stat_activity where usename = '${pages()}'`
    expect(await queryOnce(database.url, opened)).toEqual([{ n: 2 }])
    for (const statement of [
      'table musette.credentials',
      'table musette.ride_tracks',
      'delete from training.samples',
    ])
      await expect(read(statement), statement).rejects.toThrow(/permission denied|read-only/)
    expect(warnings()).toEqual([])
  })

  it('is created again after it was dropped', async () => {
    const { read, warnings } = await open()
    await read()
    const end = 'select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = $1'
    await queryOnce(database.url, end, [pages()])
    await dropAssistantLogins(database.url)
    expect(await eventually(() => read().catch(() => undefined), { what: 'another login' })).toMatchObject({
      login: pages(),
    })
    expect(warnings().filter((line) => /pages read as/.test(String(line)))).toEqual([])
  })

  it.each<[when: string, url: () => string, before: string, after: string]>([
    ['its owner may make no login', () => urlOf(plain), 'select', 'select'],
    [
      'the server takes no writes',
      () => database.url,
      'alter database DB set default_transaction_read_only = on',
      'alter database DB reset default_transaction_read_only',
    ],
    [
      'its connections are used up',
      () => database.url,
      'alter role PAGES connection limit 0',
      'alter role PAGES connection limit 40',
    ],
  ])('is the owner if %s, and the log says so once', async (_when, url, before, after) => {
    const fill = (text: string) =>
      text.replace('DB', new URL(database.url).pathname.slice(1)).replace('PAGES', pages())
    if (before.includes('PAGES')) await (await open()).read()
    else await dropAssistantLogins(database.url)
    await queryOnce(server(), fill(before))
    onTestFinished(async () => void (await queryOnce(server(), fill(after))))
    const { read, warnings } = await open(url())
    const owner = new URL(url()).username
    for (let time = 0; time < 2; time++)
      expect(await read()).toMatchObject({ login: owner, accounts: ['mine', MARK] })
    expect(warnings()).toEqual([expect.stringMatching(/^pages read as the user of DATABASE_URL: /)])
  })

  it('is never the owner for a visitor who is limited to one account', async () => {
    expect(await (await open(database.url, 'mine')).read()).toMatchObject({
      login: `${pages()}_account_1`,
      accounts: ['mine'],
    })
    const { read, warnings } = await open(urlOf(plain), 'mine')
    await expect(read()).rejects.toMatchObject({ code: 'reader_unavailable' })
    expect(warnings()).toEqual([])
  })

  it.runIf(runsWith(PGBOUNCER))(
    'reads nothing for one account through a pooler with a login of its own',
    async () => {
      const pooler = await openForTest(openPooler(database.url, 'session'))
      const url = Object.assign(new URL(pooler.url), { password: 'any' }).href
      const { read } = await open(url, 'mine')
      await expect(read()).rejects.toMatchObject({ code: 'database_login_refused' })
      const all = await open(url)
      expect(await all.read()).toMatchObject({ login: new URL(database.url).username })
      expect(all.warnings()).toContainEqual(expect.stringContaining('the pooler signs in as'))
    },
  )

  it('throws while the server is down, and starts no query twice', async () => {
    const { read, warnings } = await open('postgres://musette:secret@127.0.0.1:1/none')
    await expect(read()).rejects.toThrow(TransientError)
    expect(warnings()).toEqual([])
    let begun = 0
    const store = await openForTest(
      openVisitorStore(
        { log: quiet, owner: { read: () => expect.unreachable() } },
        { connectionString: database.url, maxConnections: 1 },
      ),
    )
    const lost = new TransientError('database_login_refused', 'as a pooler says of a server that went away')
    const fail = () => store.read(() => Promise.reject(begun++ < 5 ? lost : undefined))
    await expect(fail()).rejects.toBe(lost)
    expect(begun).toBe(1)
  })
})

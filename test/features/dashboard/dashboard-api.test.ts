import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { syncAccount } from '../../../src/program/app/sync-account.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { distPath, type Running, startNode } from '../../kit/processes.ts'

const SAMPLES = 43_200

describe('the JSON of the dashboard', () => {
  let rig: Rig
  let daemon: Running
  let url: string
  beforeAll(async () => {
    rig = await openRig({ activities: 5 })
    await syncAccount(rig.app, { name: 'default' })
    daemon = startNode([distPath('main.js'), 'start', '--roles', 'web'], {
      env: { DATABASE_URL: rig.databaseUrl, MUSETTE_DATA_DIR: rig.dataDir, MUSETTE_HTTP: '127.0.0.1:0' },
    })
    url = JSON.parse(await daemon.waitForLine(/"msg":"started"/)).url
  })
  afterAll(async () => {
    await daemon.kill('SIGKILL')
    await rig.close()
  })

  const get = (path: string, headers: Record<string, string> = {}) => fetch(`${url}${path}`, { headers })
  const key = async (rule = 'true') =>
    Number(
      (await rig.rows(`select activity_id from training.activities where ${rule} limit 1`))[0]?.activity_id,
    )

  it('is sent again only when it has changed', async () => {
    const path = `/api/activities/${await key()}`
    const first = await get(path)
    const etag = String(first.headers.get('etag'))
    const second = await get(path, { 'if-none-match': etag })
    expect([first.status, second.status, await second.text()]).toEqual([200, 304, ''])
    await rig.rows(`update training.activities set name = 'Other' where activity_id = ${await key()}`)
    expect((await get(path, { 'if-none-match': etag })).status).toBe(200)
  })

  it('is gzipped if accepted, as scripts and styles are', async () => {
    for (const path of [
      '/api/activities/list',
      '/assets/pages/today/page.js',
      '/assets/shared/styles/styles.css',
    ]) {
      const lengthOf = async (accepted: string) => {
        const answer = await get(path, { 'accept-encoding': accepted })
        return [answer.headers.get('content-encoding'), (await answer.text()).length]
      }
      const [plain, length] = await lengthOf('identity')
      expect([path, plain]).toEqual([path, null])
      expect(await lengthOf('br;q=0.9, gzip')).toEqual(['gzip', length])
      expect(await lengthOf('gzip;q=0')).toEqual([null, length])
    }
  })

  it.each([
    [
      'opens a page also with a trailing slash',
      200,
      ['/activities/', '/fitness/', '/runs/', '/queues', '/activities/ID/'],
    ],
    [
      'answers for an activity or an account that does not exist',
      404,
      [
        ...['', '/samples', '/samples/tws', '/compared?span=all'].map(
          (part) => `/api/activities/999999${part}`,
        ),
        ...['/activities/999999/download?format=csv', '/api/fitness?account=999999'],
      ],
    ],
    [
      'serves scripts, styles and pictures',
      200,
      ['pages/today/page.js', 'pages/today/page.css', 'shared/text-page.js', 'shared/styles/styles.css']
        .concat('shared/styles/icon.svg')
        .map((file) => `/assets/${file}`),
    ],
    [
      'serves no other file',
      404,
      [
        '../../../package.json',
        '..%2f..%2fpackage.json',
        '..%2fmain.js',
        'pages/today',
        '%2e%2e/musette.cjs',
      ].map((file) => `/assets/${file}`),
    ],
  ])('%s: %i', async (_title, status, paths) => {
    for (const path of paths) {
      const answer = await get(path.replace('ID', String(await key())), { accept: 'text/html' })
      expect([path, answer.status]).toEqual([path, status])
    }
  })

  it('answers 400 with the mistake to wrong parameters', async () => {
    for (const [path, sentence] of [
      ['/api/activities/abc', 'params/id must be integer'],
      ['/api/activities/0', 'params/id must be >= 1'],
      ['/api/activities/99999999999', 'params/id must be <= 2147483647'],
      ["/api/activities/list?offset=1'--", 'querystring/offset must be integer'],
      ['/api/activities/1/compared', 'querystring must NOT have fewer than 1 properties'],
      ['/activities/1/download?format=xlsx', 'querystring/format must be equal to one of the allowed values'],
      ['/api/activities/list?day=2026-02-31', 'querystring/day must match format "date"'],
      ['/api/activities/list?sort=path', 'querystring/sort must be equal to one of the allowed values'],
      ['/api/activities/list?limit=100000', 'querystring/limit must be <= 200'],
      ['/api/activities/calendar?year=0', 'querystring/year must be >= 1'],
      ['/api/fitness?account=x', 'querystring/account must be integer'],
    ] as const) {
      const answer = await get(path)
      expect([path, answer.status, await answer.json()]).toEqual([path, 400, { error: sentence }])
    }
  })

  it('answers no request with an internal error, whatever its parameters', async () => {
    const list = 'search account type year day length breakthrough power absent sort'.split(' ')
    const parameters: Record<string, readonly string[]> = {
      '/api/today': ['account'],
      '/api/runs': ['odd'],
      '/api/fitness': ['account', 'season'],
      '/api/activities/list': [...list, 'order', 'offset', 'limit'],
      '/api/activities/calendar': list,
      '/api/activities/1/compared': ['season', 'span', 'activity'],
      '/activities/1/download': ['format'],
      '/api/drop/contents?account=default': ['account', 'ids'],
      '/login': ['next'],
    }
    const odd = {
      NUL: '%00',
      'NUL in a text': 'a%00b',
      'half a surrogate': '%ED%A0%80',
      'no UTF-8': '%FF',
      long: 'x'.repeat(10_000),
      negative: '-1',
      huge: '99999999999999999999',
      'no number': 'NaN',
      infinite: 'Infinity',
      empty: '',
      quoted: `'"\\;--`,
    }
    const ask = async (path: string) => {
      const { status } = await get(path)
      expect([200, 302, 303, 400, 403, 404, 414], `${path.slice(0, 200)} answers ${status}`).toContain(status)
      return status
    }
    for (const [path, names] of Object.entries(parameters))
      for (const name of names)
        for (const value of Object.values(odd))
          await ask(`${path}${path.includes('?') ? '&' : '?'}${name}=${value}`)
    for (const value of Object.values(odd))
      for (const path of ['/activities/', '/api/activities/', '/api/activities/1/samples/', '/assets/', '/'])
        await ask(`${path}${value.slice(0, 5_000)}`)
    const answer = await get('/api/activities/list?search=%00')
    expect([answer.status, await answer.json()]).toEqual([
      400,
      { error: '"search" has the character NUL, or is not a finite number' },
    ])
  })

  it('finds words regardless of accents and case, and sorts names by the language of the browser', async () => {
    const names = ['Åre', 'Río', 'Zorn', 'ärla', 'Łódź', 'apa', 'Öl']
    await rig.rows(
      `insert into training.activities (account_id, path, name, description, detail_state, listed_at, wanted_at)
       select account_id, 'alphabet' || n, named.name, 'of the alphabet', 'mirrored', now(), now()
       from training.accounts, unnest($1::text[]) with ordinality as named (name, n)`,
      [names],
    )
    const list = async (query: string, language = 'en') => {
      const answer = await get(`/api/activities/list?${query}`, { 'accept-language': language })
      const { lines } = (await answer.json()) as { lines: Array<{ name: string }> }
      return lines.map((line) => line.name)
    }
    expect(await list('search=RIO')).toEqual(['Río'])
    expect(await list('search=lodz%20ALPHABET')).toEqual(['Łódź'])
    expect(await list('search=%C3%84RLA')).toEqual(['ärla'])
    const sorted = 'search=alphabet&sort=name&order=asc'
    expect(await list(sorted)).toEqual(['apa', 'Åre', 'ärla', 'Łódź', 'Öl', 'Río', 'Zorn'])
    expect(await list(sorted, 'sv-SE,sv;q=0.9')).toEqual(['apa', 'Łódź', 'Río', 'Zorn', 'Åre', 'ärla', 'Öl'])
    await rig.rows('delete from training.activities where path like $1', ['alphabet%'])
  })

  it('uses a search as text, never as a pattern or as SQL', async () => {
    const total = async (search: string) => {
      const answer = await get(`/api/activities/list?search=${encodeURIComponent(search)}`)
      return ((await answer.json()) as { total: number }).total
    }
    const id = await key()
    await rig.rows(
      `update training.activities set description = 'A 50%_hill, it''s \\steep' where activity_id = ${id}`,
    )
    expect(await total("50%_HILL it's \\STEEP".replace('\\\\', '\\'))).toBe(1)
    for (const search of ['5%hill', '50_', "'; drop table training.activities; --", '\\']) {
      const found = await total(search)
      expect([search, found]).toEqual([search, search === '\\' ? 1 : 0])
    }
  })

  it('accepts no method that writes', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await fetch(`${url}/api/today`, {
        method,
        headers: { 'sec-fetch-site': 'same-origin' },
      })
      expect([method, answer.status]).toEqual([method, 404])
    }
  })

  it('holds no secret and no address of the service', async () => {
    const tokens = JSON.stringify(await rig.steer('GET', 'tokens')).match(/[A-Za-z0-9_-]{20,}/g) ?? []
    expect(tokens.length).toBeGreaterThan(1)
    const id = await key()
    const views = ['today', 'runs', 'activities/list', 'activities/calendar', 'fitness']
    for (const view of [...views, `activities/${id}`, `activities/${id}/samples`, '../']) {
      const path = `/api/${view}`
      const text = await (await get(path)).text()
      for (const secret of [...tokens, rig.sandboxUrl, rig.databaseUrl]) expect(text).not.toContain(secret)
    }
  })

  it('has every second of an activity of twelve hours, in order, and no sample without a time', async () => {
    const id = await key()
    await rig.rows(`delete from training.samples where activity_id = ${id}`)
    await rig.rows(`update training.activities set recorded_from = null where activity_id = ${id}`)
    await rig.rows(
      `insert into training.samples (activity_id, t, power, mpa, hr)
       select ${id}, timestamptz '2026-05-01 05:00Z' + s * interval '1 s', s % 400, 900, case when s % 2 = 0 then 120.4 end
       from generate_series(${SAMPLES} - 1, 0, -1) s union all select ${id}, null, 1, 1, 1`,
    )
    const answer = await get(`/api/activities/${id}/samples`)
    const columns = (await answer.json()) as Record<string, Array<number | null>>
    expect(columns).toMatchObject({ cad: [], lat: [] })
    for (const name of ['elapsed_s', 'power', 'mpa', 'hr'])
      expect([name, columns[name]?.length]).toEqual([name, SAMPLES])
    expect(columns.elapsed_s?.slice(0, 3)).toEqual([0, 1, 2])
    expect([columns.power?.[399], columns.mpa?.[7], columns.hr?.[4], columns.hr?.[5]]).toEqual([
      399,
      900,
      120,
      null,
    ])
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { syncAccount } from '../../../src/program/app/sync-account.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { distPath, type Running, startNode } from '../../kit/processes.ts'
import { sample } from '../../kit/sampling.ts'
import { readTable } from '../../kit/table.ts'

const SAMPLES = 43_200

describe('the JSON API of the dashboard', () => {
  let rig: Rig
  let daemon: Running
  let url: string
  let id: number
  beforeAll(async () => {
    rig = await openRig({ activities: 5 })
    await syncAccount(rig.app, { name: 'default' })
    id = Number((await rig.rows('select min(activity_id) as id from training.activities'))[0]?.id)
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
  const getJson = async (path: string) => (await (await get(path)).json()) as Record<string, never>

  it('answers 304 unless the data has changed', async () => {
    const path = `/api/activities/${id}`
    const first = await get(path)
    const etag = String(first.headers.get('etag'))
    const second = await get(path, { 'if-none-match': etag })
    expect([first.status, second.status, await second.text()]).toEqual([200, 304, ''])
    await rig.rows(`update training.activities set name = 'Other' where activity_id = ${id}`)
    expect((await get(path, { 'if-none-match': etag })).status).toBe(200)
  })

  it('compresses responses, scripts and styles if the client accepts gzip', async () => {
    const assets = ['pages/today/page.js', 'shared/styles/styles.css'].map((file) => `/assets/${file}`)
    for (const path of ['/api/activities/list', ...assets]) {
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

  it.each(
    readTable(`
opens a page also with a trailing slash | 200 | | /activities/ /fitness/ /runs/ /queues /activities/ID/
answers for an activity that does not exist | 404 | /api/activities/999999 | /samples /samples/tws /compared?span=all
answers for an account that does not exist | 404 | /api/ | fitness?account=999999
has no download of an activity that does not exist | 404 | /activities/ | 999999/download?format=csv
serves scripts and styles | 200 | /assets/ | pages/today/page.js pages/today/page.css shared/text-page.js shared/styles/styles.css
serves pictures | 200 | /assets/ | shared/styles/icon.svg
serves no other file | 404 | /assets/ | ../../../package.json ..%2f..%2fpackage.json ..%2fmain.js pages/today %2e%2e/musette.cjs`),
  )('%s: %s', async (_title, status, begin, ends = '') => {
    for (const end of ends.split(' ')) {
      const path = `${begin}${end}`.replace('ID', String(id))
      expect([path, (await get(path, { accept: 'text/html' })).status]).toEqual([path, Number(status)])
    }
  })

  it('answers 404 to unknown addresses and to methods that write', async () => {
    const page = await get('/nowhere', { accept: 'text/html' })
    expect([page.status, await page.text()]).toEqual([404, expect.stringMatching(/<h1[^>]*>No such page</)])
    for (const of of ['999', '0', 'abc', '99999999999', '%3Cscript%3E']) {
      const answer = await get(`/activities/${of}`, { accept: 'text/html' })
      const none = expect.stringContaining('The mirror has no activity with this number')
      expect([of, answer.status, await answer.text()]).toEqual([of, 404, none])
    }
    const answer = await get('/nowhere')
    expect([answer.status, await answer.json()]).toEqual([404, { error: 'there is no such page' }])
    const headers = { 'sec-fetch-site': 'same-origin' }
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect([method, (await fetch(`${url}/api/today`, { method, headers })).status]).toEqual([method, 404])
  })

  it('answers 400 to wrong parameters and names the mistake', async () => {
    for (const [path, sentence] of readTable(`
/api/activities/abc | params/id must be integer
/api/activities/1/compared | querystring must NOT have fewer than 1 properties
/activities/1/download?format=xlsx | querystring/format must be equal to one of the allowed values
/api/activities/list?day=2026-02-31 | querystring/day must match format "date"
/api/activities/list?search=%00 | "search" contains a NUL character, or is not a finite number`)) {
      const answer = await get(path ?? '')
      expect([path, answer.status, await answer.json()]).toEqual([path, 400, { error: sentence }])
    }
  })

  it('never answers with an internal error, whatever the parameters', async () => {
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
    // NUL, a lone surrogate, invalid UTF-8, too long, out of range, not a number, empty, quoted.
    const odd = ['%00', 'a%00b', '%ED%A0%80', '%FF', 'x'.repeat(10_000), '-1', '99999999999999999999']
    const ask = async (path: string) => {
      const { status } = await get(path)
      expect([200, 302, 303, 400, 403, 404, 414], `${path.slice(0, 200)} answers ${status}`).toContain(status)
    }
    const all = [...odd, 'NaN', 'Infinity', '', `'"\\;--`]
    for (const [path, names] of Object.entries(parameters))
      for (const name of names)
        for (const value of sample(all, 3))
          await ask(`${path}${path.includes('?') ? '&' : '?'}${name}=${value}`)
    for (const path of ['/activities/', '/api/activities/', '/api/activities/1/samples/', '/assets/', '/'])
      for (const value of sample(all, 5)) await ask(`${path}${value.slice(0, 5_000)}`)
  })

  it('ignores accents and case in a search, and sorts by the language of the browser', async () => {
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

  it('treats a search as text, never as a pattern or SQL', async () => {
    const description = `A 50%_hill, it's \\steep`
    await rig.rows(`update training.activities set description = $1 where activity_id = ${id}`, [description])
    for (const [search, total] of [
      ["50%_HILL it's \\STEEP", 1],
      ['5%hill', 0],
      ['50_', 0],
      ["'; drop table training.activities; --", 0],
      ['\\', 1],
    ] as const) {
      const found = await getJson(`/api/activities/list?search=${encodeURIComponent(search)}`)
      expect([search, found.total]).toEqual([search, total])
    }
  })

  it('returns every second of twelve hours in order, without samples that lack a time', async () => {
    await rig.rows(`delete from training.samples where activity_id = ${id}`)
    await rig.rows(`update training.activities set recorded_from = null where activity_id = ${id}`)
    await rig.rows(
      `insert into training.samples (activity_id, t, power, mpa, hr)
       select ${id}, timestamptz '2026-05-01 05:00Z' + s * interval '1 s', s % 400, 900, case when s % 2 = 0 then 120.4 end
       from generate_series(${SAMPLES} - 1, 0, -1) s union all select ${id}, null, 1, 1, 1`,
    )
    const columns: Record<string, Array<number | null>> = await getJson(`/api/activities/${id}/samples`)
    expect(columns).toMatchObject({ cad: [], lat: [] })
    for (const name of ['elapsed_s', 'power', 'mpa', 'hr'])
      expect([name, columns[name]?.length]).toEqual([name, SAMPLES])
    expect(columns.elapsed_s?.slice(0, 3)).toEqual([0, 1, 2])
    const some = [columns.power?.[399], columns.mpa?.[7], columns.hr?.[4], columns.hr?.[5]]
    expect(some).toEqual([399, 900, 120, null])
  })
})

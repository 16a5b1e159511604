import { describe, expect, it } from 'vitest'
import { eventually } from '../../kit/eventually.ts'
import { openForAll } from '../../kit/open-for.ts'
import { bearer, openWebRig, TOKEN } from './rig.ts'

describe('a web server beyond loopback', () => {
  const rig = openForAll(() => openWebRig({ env: { MUSETTE_HTTP: '0.0.0.0:0', MUSETTE_HTTP_TOKEN: TOKEN } }))

  const signIn = (headers: Record<string, string> = {}, next = '/runs', token = TOKEN) =>
    rig.ask('/login', {
      method: 'POST',
      headers: { origin: rig.url, 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams({ token, next }).toString(),
    })
  const cookieOf = (answer: { headers: { 'set-cookie'?: string[] | undefined } }) =>
    answer.headers['set-cookie']?.[0] ?? ''
  const keyOf = (answer: { body: string }) => /data-key="([^"]+)"/.exec(answer.body)?.[1] ?? ''
  /** signs in and returns the headers that the browser's pages send afterwards */
  const openSession = async (headers?: Record<string, string>) => {
    const answer = await signIn(headers)
    return { cookie: cookieOf(answer).split(';')[0] ?? '', 'x-musette-key': keyOf(answer) }
  }

  it('refuses to start without a token', async () => {
    const opened = openWebRig({
      env: { MUSETTE_HTTP: '0.0.0.0:0', DATABASE_URL: 'postgres://nobody:x@127.0.0.1:9/none' },
    })
    await expect(opened).rejects.toMatchObject({
      code: 'http_token_missing',
      message: expect.stringContaining('MUSETTE_HTTP_TOKEN must be set'),
    })
  })

  it('shows only its health without the token, not even empty pages', async () => {
    for (const path of ['/', '/metrics', '/runs', '/api/runs', '/assets/pages/runs/page.js', '/nothing']) {
      const answer = await rig.ask(path)
      expect(answer, path).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } })
      expect(answer.body, path).toContain('MUSETTE_HTTP_TOKEN')
    }
    expect(await rig.ask('/healthz')).toMatchObject({ status: 200, body: '{"alive":true}' })
    expect(await rig.ask('/readyz')).toMatchObject({ status: 200 })
  })

  it.each([
    ['admits a program with the token', '/metrics', bearer(TOKEN), 200],
    ['accepts the scheme in lower case', '/metrics', bearer(TOKEN).replace('B', 'b'), 200],
    ['reads no token from another scheme', '/metrics', bearer(TOKEN).replace('Bearer', 'Basic'), 401],
    ['reads no token from the URL', encodeURI(`/metrics?token=${TOKEN}`), '', 401],
    ['reads no access token from the URL', encodeURI(`/metrics?access_token=${TOKEN}`), '', 401],
  ])('%s', async (_title, path, authorization, status) => {
    const headers = { ...(authorization && { authorization }) }
    expect(await rig.ask(path, { headers })).toMatchObject({ status })
  })

  it('refuses wrong tokens, and always admits the right one', async () => {
    const session = await openSession()
    for (const attempt of [1, 2, 3, 4, 5]) {
      const guess = { headers: { authorization: bearer(`${TOKEN}${attempt}`) } }
      expect(await rig.ask('/metrics', guess)).toMatchObject({ status: 401 })
    }
    const wrong = { headers: { authorization: bearer(`${TOKEN}6`) } }
    const wait = { 'retry-after': expect.stringMatching(/^\d$|^10$/) }
    expect(await rig.ask('/metrics', wrong)).toMatchObject({ status: 429, headers: wait })
    const form = await signIn({}, '/runs', `${TOKEN}7`)
    expect(form).toMatchObject({ status: 429 })
    expect(cookieOf(form)).toBe('')
    // Guesses do not delay a request with the right token, not even from the same address.
    for (let times = 0; times < 20; times += 1) {
      const [known, guessed] = await Promise.all([rig.askWithToken('/metrics'), rig.ask('/metrics', wrong)])
      expect([known.status, guessed.status]).toEqual([200, 429])
    }
    expect(await signIn()).toMatchObject({ status: 200 })
    expect(await rig.ask('/metrics', { headers: session })).toMatchObject({ status: 200 })
  })

  it('marks the cookie as secure by the page’s https address, not by a forgeable header', async () => {
    const { host } = new URL(rig.url)
    expect(cookieOf(await signIn({ origin: `https://${host}` }))).toMatch(/; Secure(;|$)/)
    expect(cookieOf(await signIn({ 'x-forwarded-proto': 'https' }))).not.toContain('Secure')
  })

  it('never redirects to another site after a login', async () => {
    const away = ['//evil.test', '/\\evil.test', 'https://evil.test/', 'javascript:alert(1)', '/"><b>']
    for (const next of away) {
      expect((await signIn({}, next)).body, next).toContain('data-next="/"')
      const page = await rig.ask(`/login?next=${encodeURIComponent(next)}`)
      expect(page.body, next).toContain('name="next" value="/"')
    }
  })

  const DATA = [
    '/metrics',
    '/api/runs',
    '/api/drop',
    '/mcp',
    '/activities/1/download?format=csv',
    '/workouts/1.erg?path=x',
  ]

  it('returns no data for the cookie of a session without its key', async () => {
    await rig.rows(
      `insert into training.accounts (name, base_url, needs_login) values ('berta', 'http://x', true)`,
    )
    const [own, other] = [await openSession(), await openSession()]
    const [{ cookie }, site] = [own, { origin: rig.url, 'sec-fetch-site': 'same-origin' }]
    expect(JSON.stringify(await rig.ask('/api/runs'))).not.toContain('berta')
    for (const key of ['', own.cookie, other['x-musette-key'], 'undefined'])
      for (const path of [...DATA, '/readyz'])
        for (const [method, body] of [['GET'], ['POST', '{}']] as const) {
          const headers = { ...site, cookie, accept: 'text/html', ...(key && { 'x-musette-key': key }) }
          const answer = await rig.ask(path, { method, headers, ...(body && { body }) })
          const refusals = path === '/readyz' ? [200, 404] : method === 'GET' ? [401] : [401, 404]
          expect(refusals, `${method} ${path} ${key}`).toContain(answer.status)
          expect(decodeURIComponent(JSON.stringify(answer)), path).not.toContain('berta')
        }
    // Pages contain no data, not even which activities exist.
    const page = (path: string) => rig.ask(path, { headers: { cookie, accept: 'text/html' } })
    for (const path of ['/', '/runs', '/activities/1', '/assets/pages/runs/page.js'])
      expect([path, (await page(path)).status]).toEqual([path, 200])
    expect((await page('/nothing')).status).toBe(404)
    expect((await rig.ask('/api/runs', { headers: own })).status).toBe(200)
    await rig.rows(`delete from training.accounts where name = 'berta'`)
  })

  it('keeps the sessions of different ports of one host apart', async () => {
    const there = { host: '127.0.0.1:1', origin: 'http://127.0.0.1:1' }
    const sessions = [await openSession(), await openSession(there)]
    // A browser sends all cookies of a host to each of its ports.
    const cookie = ['musette_session_2=x', ...sessions.map((session) => session.cookie)].join('; ')
    expect(new Set(sessions.map((session) => session.cookie.split('=')[0])).size).toBe(2)
    await rig.ask('/logout', { method: 'POST', headers: { cookie, ...there } })
    const statuses = sessions.map(
      async (session) => (await rig.ask('/api/runs', { headers: { ...session, cookie } })).status,
    )
    expect(await Promise.all(statuses)).toEqual([200, 401])
  })

  it('ends a session at a logout, even for other browsers with its cookie', async () => {
    const session = await openSession()
    const { cookie } = session
    const out = await rig.ask('/logout', { method: 'POST', headers: { cookie, origin: rig.url } })
    expect(out).toMatchObject({ status: 303, headers: { location: '/login' } })
    expect(cookieOf(out)).toContain(`musette_session_${new URL(rig.url).port}=; `)
    expect(await rig.ask('/metrics', { headers: session })).toMatchObject({ status: 401 })
  })

  it('refuses a write from a page of another site, with or without a session', async () => {
    const { cookie } = await openSession()
    const write = (headers: Record<string, string>) => rig.ask('/logout', { method: 'POST', headers })
    const { host } = new URL(rig.url)
    const foreign = [
      { cookie },
      { cookie, origin: 'null' },
      { cookie, origin: 'http://evil.test' },
      { cookie, origin: `http://${host}.evil.test` },
      { cookie, origin: rig.url, 'sec-fetch-site': 'cross-site' },
      { cookie, origin: rig.url, 'sec-fetch-site': 'same-site' },
      { cookie, origin: `http://127.0.0.1:1` },
    ]
    for (const headers of foreign)
      expect(await write(headers), JSON.stringify(headers)).toMatchObject({ status: 403 })
    expect(await write({ cookie, origin: rig.url })).toMatchObject({ status: 303 })
    expect(await write({ cookie, 'sec-fetch-site': 'same-origin' })).toMatchObject({ status: 303 })
    expect(await write({ authorization: bearer(TOKEN) })).toMatchObject({ status: 303 })
    expect(await signIn({ origin: 'http://evil.test' })).toMatchObject({ status: 403 })
  })

  it('shows everybody how many accounts are late, but their names only to authenticated requests', async () => {
    await rig.rows(
      `insert into training.accounts (name, base_url, needs_login) values ('anna', 'http://x', false)`,
    )
    const seen = await eventually(async () => {
      const answer = await rig.askWithToken('/readyz')
      return answer.body.includes('anna') && answer
    })
    expect(JSON.parse(seen.body).accounts).toEqual({ anna: 'last poll: never' })
    const anonymous = await rig.ask('/readyz')
    expect(anonymous.body).not.toContain('anna')
    expect(Object.keys(JSON.parse(anonymous.body))).toEqual(['ready', 'parts', 'identity'])
  })
})

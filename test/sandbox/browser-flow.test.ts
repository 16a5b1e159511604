import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { basic, DEMO, openClient, PUBLIC, type TestClient } from './client.ts'

const REDIRECT = 'http://127.0.0.1:5173/callback'
const EXACT = 'https://app.example/cb?x=1'
const STATE = 'a%2Fb%20c+d~%C3%A9%3D%26'

let client: TestClient
beforeEach(async () => {
  const third = { id: 'third', secret: 'secret', redirectUris: [EXACT] }
  client = await openClient({ activities: 3, clients: [third] })
})
afterEach(() => client.sandbox.close())

function authorizePath(changes: Record<string, string> = {}): string {
  const query = { client_id: 'demo_app', redirect_uri: REDIRECT, response_type: 'code', ...changes }
  return `/oauth/authorize?${new URLSearchParams(query)}&state=${STATE}`
}

async function browse(path: string, init: RequestInit = {}) {
  const response = await fetch(`${client.sandbox.url}${path}`, { redirect: 'manual', ...init })
  return { status: response.status, headers: response.headers, page: await response.text() }
}

const post = (path: string, form: Record<string, string>, cookie = '') =>
  browse(path, { method: 'POST', headers: { cookie }, body: new URLSearchParams(form) })

async function openConsent(path = authorizePath()) {
  const login = await post(path, { step: 'login', username: 'rider', password: 'rider' })
  const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  const consent = await browse(login.headers.get('location') ?? '', { headers: { cookie } })
  const csrf = /name="csrf" value="([^"]+)"/.exec(consent.page)?.[1] ?? ''
  return { cookie, consent, csrf }
}

async function decide(decision: string, changes: Record<string, string> = {}): Promise<string> {
  const path = authorizePath(changes)
  const { cookie, csrf } = await openConsent(path)
  const answer = await post(path, { step: 'consent', csrf, decision }, cookie)
  return answer.headers.get('location') ?? ''
}

const exchange = (code: string, redirect = REDIRECT, authorization = DEMO) =>
  client.token({ grant_type: 'authorization_code', code, redirect_uri: redirect }, authorization)

describe('the browser flow', () => {
  it('shows a login, then names the application and the data it wants', async () => {
    const first = await browse(authorizePath())
    expect(first.page).toContain('name="password"')
    const { consent } = await openConsent()
    for (const word of ['Demo Application', 'Activities', 'Workouts', 'Performance data']) {
      expect(consent.page).toContain(word)
    }
  })

  it('sends code and state back, the state byte for byte, and exchanges the code for a working pair', async () => {
    const location = await decide('approve')
    expect(location.startsWith(`${REDIRECT}?code=`)).toBe(true)
    expect(location.endsWith(`&state=${STATE}`)).toBe(true)
    const { status, body } = await exchange(new URL(location).searchParams.get('code') ?? '')
    expect(status).toBe(200)
    expect((await client.get('/oauth/workouts', String(body.access_token))).status).toBe(200)
    const refreshing = { grant_type: 'refresh_token', refresh_token: String(body.refresh_token) }
    expect((await client.token(refreshing, PUBLIC)).status).toBe(400)
    expect((await client.token(refreshing, DEMO)).status).toBe(200)
  })

  it('checks a code challenge, and requires no verifier without one', async () => {
    const verifier = 'v'.repeat(43)
    const hashed = createHash('sha256').update(verifier).digest('base64url')
    for (const [method, challenge] of [
      ['S256', hashed],
      ['plain', verifier],
    ] as const) {
      const changes = { code_challenge: challenge, code_challenge_method: method }
      const grant = async (more: Record<string, string>) => {
        const code = new URL(await decide('approve', changes)).searchParams.get('code') ?? ''
        const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT, ...more }
        return client.token(form, DEMO)
      }
      expect((await grant({})).body.error).toBe('invalid_grant')
      expect((await grant({ code_verifier: 'w'.repeat(43) })).body.error).toBe('invalid_grant')
      expect((await grant({ code_verifier: verifier })).status).toBe(200)
    }
    const odd = await browse(authorizePath({ code_challenge: 'x', code_challenge_method: 'S1' }))
    expect(odd.headers.get('location')).toBe(`${REDIRECT}?error=invalid_request&state=${STATE}`)
  })

  it('compares the redirect address of a registered client letter by letter', async () => {
    const asked = (redirect_uri: string) => browse(authorizePath({ client_id: 'third', redirect_uri }))
    for (const uri of [`${EXACT}&y=2`, 'https://app.example/cb', 'https://app.example/cb?x=1/', REDIRECT]) {
      expect([uri, (await asked(uri)).status]).toEqual([uri, 400])
    }
    const changes = { client_id: 'third', redirect_uri: EXACT }
    const location = await decide('approve', changes)
    expect(location.startsWith(`${EXACT}&code=`)).toBe(true)
    const code = new URL(location).searchParams.get('code') ?? ''
    expect((await exchange(code, EXACT, basic('third:secret'))).status).toBe(200)
  })

  it('accepts a code once, in time, from its own client and redirect address', async () => {
    const code = async () => new URL(await decide('approve')).searchParams.get('code') ?? ''
    const used = await code()
    const first = await exchange(used)
    expect((await exchange(used)).body.error).toBe('invalid_grant')
    expect((await client.get('/oauth/workouts', String(first.body.access_token))).status).toBe(401)
    expect((await exchange(await code(), 'http://127.0.0.1:1/')).body.error).toBe('invalid_grant')
    expect((await exchange(await code(), REDIRECT, PUBLIC)).body.error).toBe('unauthorized_client')
    const late = await code()
    client.clock.turn(60_000)
    expect((await exchange(late)).body.error).toBe('invalid_grant')
  })

  it('sends a refusal back as access_denied', async () => {
    expect(await decide('deny')).toBe(`${REDIRECT}?error=access_denied&state=${STATE}`)
  })

  it.each([
    'https://evil.example/cb',
    'http://127.0.0.1.evil.example/',
    'javascript:alert(1)',
    'http://127.0.0.1/#x',
  ])('says on a page that %s is not registered, and does not redirect there', async (uri) => {
    const answer = await browse(authorizePath({ redirect_uri: uri }))
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
    expect(answer.page).toContain('not registered')
  })

  it.each(['http://localhost:1/x?y=1', 'http://[::1]:9999/', 'http://127.0.0.1:65000'])(
    'accepts the loopback address %s',
    async (uri) => {
      expect((await browse(authorizePath({ redirect_uri: uri }))).status).toBe(200)
    },
  )

  it('rejects a wrong password, and a consent without its form', async () => {
    const wrong = await post(authorizePath(), { step: 'login', username: 'rider', password: 'x' })
    expect([wrong.status, wrong.headers.get('set-cookie')]).toEqual([401, null])
    const { cookie } = await openConsent()
    const forged = await post(authorizePath(), { step: 'consent', decision: 'approve', csrf: 'x' }, cookie)
    expect(forged.status).toBe(403)
  })
})

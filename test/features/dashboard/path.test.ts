import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWebRig, TOKEN, type WebRig } from '../../program/web/rig.ts'

const PAGE = { headers: { accept: 'text/html' } }

describe('a dashboard below a path', () => {
  let rig: WebRig
  beforeAll(async () => {
    rig = await openWebRig({ env: { MUSETTE_HTTP_TOKEN: TOKEN, MUSETTE_HTTP_PATH: '/rides/musette/' } })
  })
  afterAll(() => rig.close())

  it('redirects a browser to its login and back, with a cookie for its path only', async () => {
    const refused = await rig.ask('/rides/musette/fitness?span=all', PAGE)
    expect(refused.status).toBe(303)
    const login = String(refused.headers.location)
    expect(login).toBe('/rides/musette/login?next=%2Ffitness%3Fspan%3Dall')
    const form = await rig.ask(login, PAGE)
    expect(form.body).toContain('<form method="post" action="/rides/musette/login">')
    const host = new URL(rig.url).host
    const signedIn = await rig.ask('/rides/musette/login', {
      method: 'POST',
      headers: { origin: `https://${host}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token: TOKEN, next: '/fitness?span=all' }).toString(),
    })
    expect(signedIn).toMatchObject({
      status: 303,
      headers: { location: '/rides/musette/fitness?span=all' },
    })
    const [cookie] = signedIn.headers['set-cookie'] ?? []
    expect(cookie).toMatch(/; Path=\/rides\/musette; HttpOnly; Secure; SameSite=Strict$/)
  })

  it('links only into its path, to existing addresses', async () => {
    for (const path of ['/', '/activities', '/fitness', '/runs', '/login', '/nowhere']) {
      const page = await rig.askWithToken(`/rides/musette${path}`, PAGE)
      const named = [...page.body.matchAll(/(?:href|src|action)="([^"]*)"/g)].map(([, link = '']) => link)
      expect(named.length, path).toBeGreaterThan(0)
      for (const link of named.filter((one) => !/^(?:#|data:)/.test(one))) {
        expect(link, path).toMatch(/^\/rides\/musette\//)
        // The scripts are compiled for a daemon in dist/ only.
        if (!/^\/.*\.(?:css|svg)$/.test(link)) continue
        expect((await rig.askWithToken(link)).status, link).toBe(200)
      }
    }
  })

  it('answers health checks and local programs also without the path, and no other path', async () => {
    for (const path of ['/healthz', '/rides/musette/healthz'])
      expect(await rig.ask(path)).toMatchObject({ status: 200 })
    expect((await rig.askWithToken('/api/today')).status).toBe(200)
    for (const path of ['/rides', '/rides/musettes', '/rides/musettehealthz'])
      expect((await rig.askWithToken(path)).status, path).toBe(404)
    expect((await rig.askWithToken('/rides/musette')).status).toBe(200)
    expect((await rig.askWithToken('/rides/musette?account=1')).status).toBe(200)
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWebRig, TOKEN, type WebRig } from '../../program/web/rig.ts'

const PAGE = { headers: { accept: 'text/html' } }

describe('a dashboard behind a path prefix', () => {
  let rig: WebRig
  beforeAll(async () => {
    rig = await openWebRig({ env: { MUSETTE_HTTP_TOKEN: TOKEN, MUSETTE_HTTP_PATH: '/rides/musette/' } })
  })
  afterAll(() => rig.close())

  it('redirects to the login page and back, with a cookie only for its path', async () => {
    const refused = await rig.ask('/rides/musette/fitness?span=all', PAGE)
    expect(refused.status).toBe(303)
    const login = String(refused.headers.location)
    expect(login).toBe('/rides/musette/login?next=%2Ffitness%3Fspan%3Dall')
    const form = await rig.ask(login, PAGE)
    expect(form.body).toContain('<form method="post" action="/rides/musette/login">')
    const origin = `https://${new URL(rig.url).host}`
    const signedIn = await rig.ask('/rides/musette/login', {
      method: 'POST',
      headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token: TOKEN, next: '/fitness?span=all' }).toString(),
    })
    expect(signedIn).toMatchObject({ status: 200 })
    expect(signedIn.body).toContain('data-name="musette-key /rides/musette"')
    expect(signedIn.body).toContain('data-next="/rides/musette/fitness?span=all"')
    const [cookie] = signedIn.headers['set-cookie'] ?? []
    expect(cookie).toMatch(/; Path=\/rides\/musette; HttpOnly; Secure; SameSite=Lax$/)
  })

  it('answers health checks and local programs without the prefix, and no other path', async () => {
    for (const path of ['/healthz', '/rides/musette/healthz'])
      expect(await rig.ask(path)).toMatchObject({ status: 200 })
    for (const [path, status] of [
      ['/api/today', 200],
      ['/rides', 404],
      ['/rides/musettes', 404],
      ['/rides/musettehealthz', 404],
      ['/rides/musette', 200],
      ['/rides/musette?account=1', 200],
    ] as const)
      expect([path, (await rig.askWithToken(path)).status]).toEqual([path, status])
  })
})

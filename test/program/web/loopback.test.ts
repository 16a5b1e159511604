import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask, openBareWeb, openWebRig, type WebRig } from './rig.ts'

describe('a web server on loopback without a token', () => {
  let rig: WebRig
  beforeAll(async () => {
    rig = await openWebRig()
  })
  afterAll(() => rig.close())

  it('answers everything without authentication', async () => {
    for (const path of ['/', '/healthz', '/readyz', '/metrics', '/runs']) {
      expect(await rig.ask(path), path).toMatchObject({ status: 200 })
    }
  })

  it('answers loopback names, and refuses a foreign name that resolves to them', async () => {
    const { port } = new URL(rig.url)
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, `LOCALHOST:${port}`]) {
      expect(await rig.ask('/metrics', { headers: { host } }), host).toMatchObject({ status: 200 })
    }
    for (const host of ['evil.test', `evil.test:${port}`, `127.0.0.1.evil.test:${port}`]) {
      for (const path of ['/', '/healthz', '/metrics', '/api/runs', '/nothing']) {
        expect(await rig.ask(path, { headers: { host } }), `${host} ${path}`).toMatchObject({ status: 403 })
      }
    }
  })

  it('answers HEAD with the headers alone', async () => {
    for (const path of ['/', '/healthz', '/metrics', '/runs']) {
      const answer = await rig.ask(path, { method: 'HEAD' })
      expect(answer, path).toMatchObject({ status: 200, body: '' })
      expect(Number(answer.headers['content-length']), path).toBeGreaterThan(0)
    }
  })

  it('sends strict headers with every answer, also with refusals and unknown pages', async () => {
    const answers = [
      await rig.ask('/'),
      await rig.ask('/healthz'),
      await rig.ask('/metrics'),
      await rig.ask('/runs'),
      await rig.ask('/nothing'),
      await rig.ask('/', { headers: { host: 'evil.test' } }),
    ]
    for (const { headers } of answers) {
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'cache-control': 'no-store',
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'same-origin',
        'permissions-policy': expect.stringContaining('camera=()'),
      })
      expect(headers['content-security-policy']).toContain("default-src 'none'")
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
      expect(headers['content-security-policy']).not.toMatch(/https?:|\*|unsafe-eval/)
    }
  })

  it('allows pictures only from the configured server of map tiles', async () => {
    const web = await openBareWeb({
      host: '127.0.0.1',
      env: { MUSETTE_MAP_TILES: 'https://tiles.example.com/{z}/{x}/{y}.png?key=k' },
    })
    const answer = await ask(`${web.url}/fitness`)
    await web.close()
    const policy = String(answer.headers['content-security-policy'])
    expect(policy).toContain("img-src 'self' data: https://tiles.example.com;")
    expect(policy.match(/https?:/g)).toHaveLength(1)
    // Such a server serves only who says which site it is for.
    expect(answer.headers['referrer-policy']).toBe('strict-origin-when-cross-origin')
    expect((await rig.ask('/fitness')).headers['referrer-policy']).toBe('same-origin')
  })

  it('has no login page, because it has no token', async () => {
    expect(await rig.ask('/login')).toMatchObject({ status: 404 })
  })
})

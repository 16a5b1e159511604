import { describe, expect, it } from 'vitest'
import { openForAll } from '../../kit/open-for.ts'
import { ask, openBareWeb, openWebRig } from './rig.ts'

describe('a web server on loopback without a token', () => {
  const rig = openForAll(() => openWebRig())

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

  it('answers everything without authentication, HEAD only with headers, and has no login page', async () => {
    for (const path of ['/', '/healthz', '/metrics', '/runs']) {
      expect(await rig.ask(path), path).toMatchObject({ status: 200 })
      const answer = await rig.ask(path, { method: 'HEAD' })
      expect(answer, path).toMatchObject({ status: 200, body: '' })
      expect(Number(answer.headers['content-length']), path).toBeGreaterThan(0)
    }
    expect(await rig.ask('/login')).toMatchObject({ status: 404 })
  })

  it('sends strict headers with every answer, including refusals and unknown pages', async () => {
    const paths = ['/', '/healthz', '/metrics', '/runs', '/nothing']
    const answers = await Promise.all(paths.map((path) => rig.ask(path)))
    answers.push(await rig.ask('/', { headers: { host: 'evil.test' } }))
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

  it.each([
    ['tiles.example.com', 'https://tiles.example.com'],
    ['{s}.tiles.test:81', 'https://a.tiles.test:81 https://b.tiles.test:81 https://c.tiles.test:81'],
  ])('allows pictures only from the configured servers of map tiles: %s', async (host, allowed) => {
    const env = { MUSETTE_MAP_TILES: `https://${host}/{z}/{x}/{y}.png?key=k` }
    const web = await openBareWeb({ host: '127.0.0.1', env })
    const answer = await ask(`${web.url}/fitness`)
    await web.close()
    const policy = String(answer.headers['content-security-policy'])
    expect(policy).toContain(`img-src 'self' data: ${allowed};`)
    expect(policy.match(/https?:/g)).toHaveLength(allowed.split(' ').length)
    // A tile server may answer only requests that name the site.
    expect(answer.headers['referrer-policy']).toBe('strict-origin-when-cross-origin')
    expect((await rig.ask('/fitness')).headers['referrer-policy']).toBe('same-origin')
  })
})

describe('an address to listen on', () => {
  it('is refused without a token if others can reach it', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'musette.test', 'localhost.test', '']) {
      await expect(openBareWeb({ host }), host).rejects.toMatchObject({ code: 'http_token_missing' })
    }
  })

  it('is refused with the setting to change if another program uses it', async () => {
    const web = await openBareWeb({ host: '127.0.0.1' })
    const { port } = new URL(web.url)
    await expect(openBareWeb({ host: '127.0.0.1', port: Number(port) })).rejects.toMatchObject({
      code: 'http_cannot_listen',
      message: expect.stringContaining('set another address, or off'),
    })
    await web.close()
  })
})

import { connect, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CliRig, openCliRig } from './rig.ts'

const CLIENT = ['--client-id', 'demo_app', '--client-secret', 'demo_secret']

describe('the login in a browser', () => {
  let rig: CliRig
  beforeAll(async () => {
    rig = await openCliRig({ activities: 2 })
  })
  afterAll(() => rig.close())

  it('signs in over a redirect to loopback', async () => {
    const login = rig.start(['login', '--browser', ...CLIENT])
    const address = await login.waitForLine(/^http:.*authorize/)
    const page = await fetch(await consent(address))
    expect(await page.text()).toContain('Signed in')
    expect(await login.finished).toMatchObject({ code: 0 })
    expect(await rig.musette(['sync', '--json'])).toMatchObject({ code: 0 })
  })

  it('signs in with the pasted address of the browser', async () => {
    const login = rig.start(['login', 'pasted', '--paste', ...CLIENT], { typed: true })
    login.type(await consent(await login.waitForLine(/^http:.*authorize/)))
    expect(await login.finished).toMatchObject({ code: 0 })
    const [pasted] = JSON.parse((await rig.musette(['accounts', '--json'])).stdout).slice(-1)
    expect(pasted).toMatchObject({ account: 'pasted', needs_login: false })
  })

  it.each([
    ['the client id', ['--browser', '--client-id', 'nobody', '--client-secret', 'x']],
    ['the redirect address', ['--paste', ...CLIENT, '--redirect-uri', 'https://rider.example/back']],
  ])('says at once that the service refuses %s', async (_what, options) => {
    const login = await rig.musette(['login', 'refused', ...options])
    expect(login.code).toBe(2)
    expect(login.stdout).toBe('')
    expect(login.stderr).toMatch(
      /the service refuses the redirect address .* \(status 400\); run: musette login/,
    )
  })

  it('listens on the port of a redirect address, and ends despite an open connection without a request', async () => {
    const port = await freePort()
    const redirectUri = `http://127.0.0.1:${port}/back`
    const login = rig.start(['login', 'fixed', '--browser', ...CLIENT, '--redirect-uri', redirectUri])
    const address = await login.waitForLine(/^http:.*authorize/)
    expect(new URL(address).searchParams.get('redirect_uri')).toBe(redirectUri)
    const idle = connect(port, '127.0.0.1')
    const taken = await rig.musette(['login', 'late', '--browser', ...CLIENT, '--redirect-uri', redirectUri])
    expect(taken.code).toBe(2)
    expect(taken.stderr).toContain(`port ${port} on this machine cannot be listened on (EADDRINUSE)`)
    expect(await (await fetch(await consent(address))).text()).toContain('Signed in')
    expect(await login.finished).toMatchObject({ code: 0 })
    idle.destroy()
  })

  it('says what to type when nothing was pasted', async () => {
    const login = await rig.musette(['login', 'unpasted', '--paste', ...CLIENT])
    expect(login.code).toBe(2)
    expect(login.stderr).toContain('musette login --browser --paste')
  })

  it('survives a request without a valid address', async () => {
    const login = rig.start(['login', 'probed', '--browser', ...CLIENT])
    const address = new URL(await login.waitForLine(/^http:.*authorize/))
    const { port } = new URL(address.searchParams.get('redirect_uri') ?? '')
    const [status] = await sendRaw(Number(port), 'GET // HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect(status).toContain('400')
    expect(await (await fetch(await consent(address.href))).text()).toContain('Signed in')
    expect(await login.finished).toMatchObject({ code: 0 })
  })

  it('accepts no answer with another state', async () => {
    const login = rig.start(['login', 'forged', '--browser', ...CLIENT])
    const address = new URL(await login.waitForLine(/^http:.*authorize/))
    const redirect = address.searchParams.get('redirect_uri')
    const forged = await fetch(`${redirect}?code=stolen&state=guess`)
    expect(forged.status).toBe(400)
    const denied = await fetch(`${redirect}?error=access_denied&state=${address.searchParams.get('state')}`)
    expect(await denied.text()).toContain('not granted')
    const end = await login.finished
    expect(end.code).toBe(2)
    expect(end.stderr).toContain('access_denied')
  })
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** Sends bytes as they are and returns the lines of the answer. */
async function sendRaw(port: number, request: string): Promise<string[]> {
  const socket = connect(port, '127.0.0.1')
  socket.end(request)
  const chunks = await socket.setEncoding('utf8').toArray()
  return chunks.join('').split('\r\n')
}

/** Does what the rider does: signs in on the service's page, approves, and returns where the browser is sent. */
async function consent(address: string): Promise<string> {
  let cookie = ''
  let page = await fetch(address, { redirect: 'manual' })
  for (let step = 0; step < 6; step++) {
    cookie = page.headers.get('set-cookie')?.split(';')[0] ?? cookie
    const next = page.headers.get('location')
    if (next && !next.startsWith(new URL(address).origin) && !next.startsWith('/')) return next
    if (next) {
      page = await fetch(new URL(next, address), { redirect: 'manual', headers: { cookie } })
      continue
    }
    const { action, fields } = parseForm(await page.text(), address)
    page = await fetch(action, { method: 'POST', redirect: 'manual', headers: { cookie }, body: fields })
  }
  throw new Error('the service never redirected')
}

function parseForm(html: string, address: string): { action: URL; fields: URLSearchParams } {
  const action = /<form[^>]*action="([^"]*)"/.exec(html)?.[1] ?? ''
  const fields = new URLSearchParams()
  for (const [tag] of html.matchAll(/<(?:input|button)[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(tag)?.[1]
    const value = /value="([^"]*)"/.exec(tag)?.[1] ?? ''
    if (!name || (fields.has(name) && /<button/.test(tag))) continue
    fields.set(name, decode(['username', 'password'].includes(name) ? 'rider' : value))
  }
  return { action: new URL(decode(action), address), fields }
}

function decode(text: string): string {
  return text.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'")
}

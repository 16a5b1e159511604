import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { findFreePort } from '../../kit/listen.ts'
import { openForAll } from '../../kit/open-for.ts'
import { approve } from '../app/approve.ts'
import { openCliRig } from './rig.ts'

const CLIENT = ['--client-id', 'demo_app', '--client-secret', 'demo_secret']

describe('the login in a browser', () => {
  const rig = openForAll(() => openCliRig({ activities: 2 }))

  it('signs in by a redirect to loopback, whatever else is sent there', async () => {
    const login = rig.start(['login', '--browser', ...CLIENT])
    const address = await login.waitForLine(/^http:.*authorize/)
    const redirect = new URL(new URL(address).searchParams.get('redirect_uri') ?? '')
    expect(await sendRaw(Number(redirect.port), 'GET // HTTP/1.1')).toContain('400')
    expect((await fetch(`${redirect}?code=stolen&state=guess`)).status).toBe(400)
    expect(await (await fetch(await approve(address))).text()).toContain('Signed in')
    expect(await login.finished).toMatchObject({ code: 0 })
    expect(await rig.musette(['sync', '--json'])).toMatchObject({ code: 0 })
  })

  it('signs in with the address pasted from the browser', async () => {
    const login = rig.start(['login', 'pasted', '--paste', ...CLIENT], { typed: true })
    login.type(await approve(await login.waitForLine(/^http:.*authorize/)))
    expect(await login.finished).toMatchObject({ code: 0 })
    const [pasted] = JSON.parse((await rig.musette(['accounts', '--json'])).stdout).slice(-1)
    expect(pasted).toMatchObject({ account: 'pasted', needs_login: false })
  })

  it('listens on the port of a redirect address, and ends if access is not granted', async () => {
    const port = await findFreePort()
    const redirectUri = `http://127.0.0.1:${port}/back`
    const options = ['--browser', ...CLIENT, '--redirect-uri', redirectUri]
    const login = rig.start(['login', 'fixed', ...options])
    const { searchParams } = new URL(await login.waitForLine(/^http:.*authorize/))
    expect(searchParams.get('redirect_uri')).toBe(redirectUri)
    const idle = connect(port, '127.0.0.1')
    const taken = await rig.musette(['login', 'late', ...options])
    expect(taken.code).toBe(2)
    expect(taken.stderr).toContain(`cannot listen on port ${port} of this machine (EADDRINUSE)`)
    const denied = await fetch(`${redirectUri}?error=access_denied&state=${searchParams.get('state')}`)
    expect(await denied.text()).toContain('not granted')
    const end = await login.finished
    expect(end).toMatchObject({ code: 2, stderr: expect.stringContaining('access_denied') })
    idle.destroy()
  })
})

/** Sends the first line of a request unchanged, and returns the first line of the answer. */
async function sendRaw(port: number, line: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.end(`${line}\r\nHost: x\r\nConnection: close\r\n\r\n`)
  const chunks = await socket.setEncoding('utf8').toArray()
  return chunks.join('').split('\r\n')[0] ?? ''
}

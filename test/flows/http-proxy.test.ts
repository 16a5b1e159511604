import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openHttpProxy } from '../kit/http-proxy.ts'
import { openForAll, openForTest } from '../kit/open-for.ts'
import { openReceiver } from '../kit/receiver.ts'
import { openCliRig } from '../program/cli/rig.ts'

const SIGN_IN = ['login', '--username', 'rider', '--password-stdin']
/** A host name that only the proxy resolves. */
const SERVICE = 'service.invalid'

const rig = openForAll(() => openCliRig({ activities: 3 }))
const proxy = openForAll(() => openHttpProxy(rig.sandboxUrl))

it('this machine and hosts of NO_PROXY bypass the proxy; other proxy types are refused', async () => {
  const direct = await rig.musette(SIGN_IN, { input: 'rider', env: { HTTP_PROXY: proxy.url } })
  expect(direct.code, direct.stderr).toBe(0)
  const env = { MUSETTE_BASE_URL: `http://${SERVICE}`, HTTP_PROXY: proxy.url, NO_PROXY: '.invalid' }
  const unknown = await rig.musette(SIGN_IN, { input: 'rider', env })
  expect(unknown).toMatchObject({ code: 4, stderr: expect.stringMatching(/ENOTFOUND|EAI_AGAIN/) })
  expect(proxy.tunnels).toEqual([])
  const socks = await rig.musette(['status'], { env: { HTTPS_PROXY: 'socks5://rider:secret-word@h:1080' } })
  expect(socks.code).toBe(2)
  expect(socks.stderr).toContain('HTTPS_PROXY is not the address of an HTTP proxy')
  expect(socks.stderr).not.toContain('secret-word')
})

it('HTTP_PROXY and http_proxy lead to the service, and no output has their password', async () => {
  const env = { MUSETTE_BASE_URL: `http://${SERVICE}`, http_proxy: proxy.url, MUSETTE_LOG_LEVEL: 'trace' }
  const signedIn = await rig.musette(SIGN_IN, { input: 'rider', env })
  expect(signedIn.code, signedIn.stderr).toBe(0)
  const synced = await rig.musette(['sync', '--json'], { env })
  expect(JSON.parse(synced.stdout)).toMatchObject({ fetched: 3, failed: 0 })
  expect(new Set(proxy.tunnels)).toEqual(new Set([`${SERVICE}:80`]))
  const shown = await rig.musette(['config'], { env })
  expect(shown.stdout).toContain('http_proxy')

  const wrong = proxy.url.replace('proxy-secret', 'wrong-secret')
  const refused = await rig.musette(['sync'], { env: { ...env, http_proxy: wrong } })
  expect(refused.code).toBe(4)
  expect(refused.stderr).toContain(`the proxy ${new URL(wrong).origin} requires a user and a password`)
  expect(refused.stderr).toContain('run: musette config')
  for (const { stdout, stderr } of [signedIn, synced, shown, refused])
    expect(stdout + stderr).not.toMatch(/proxy-secret|wrong-secret|cmlkZXI6/)
})

it('messages also reach their receivers through the proxy', async () => {
  const receiver = await openForTest(openReceiver())
  const toReceiver = await openForTest(openHttpProxy(receiver.url))
  const file = join(rig.dataDir, 'webhooks.json')
  const phone = { name: 'phone', style: 'ntfy', url: 'http://ntfy.invalid/my-rides' }
  await writeFile(file, JSON.stringify([phone]), { mode: 0o600 })
  const env = { MUSETTE_WEBHOOKS: file, HTTP_PROXY: toReceiver.url }
  const sent = await rig.musette(['webhook', 'test'], { env })
  expect(sent.code, sent.stderr + sent.stdout).toBe(0)
  expect(toReceiver.tunnels).toEqual(['ntfy.invalid:80'])
  expect(JSON.parse(receiver.received[0]?.text ?? '')).toMatchObject({ topic: 'my-rides' })
})

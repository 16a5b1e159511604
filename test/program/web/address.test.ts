import { describe, expect, it } from 'vitest'
import { openBareWeb } from './rig.ts'

describe('an address to listen on', () => {
  it('is refused without a token when others can reach it', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'musette.test', 'localhost.test', '']) {
      await expect(openBareWeb({ host }), host).rejects.toMatchObject({ code: 'http_token_missing' })
    }
  })

  it('needs no token on loopback, and a token elsewhere', async () => {
    for (const options of [
      { host: '127.0.0.1' },
      { host: 'localhost' },
      { host: '0.0.0.0', token: 'a token of the tests' },
    ]) {
      const web = await openBareWeb(options)
      expect((await fetch(`${web.url}/healthz`)).status).toBe(200)
      await web.close()
    }
  })

  it('is refused with the setting to change when another program has it', async () => {
    const web = await openBareWeb({ host: '127.0.0.1' })
    const { port } = new URL(web.url)
    await expect(openBareWeb({ host: '127.0.0.1', port: Number(port) })).rejects.toMatchObject({
      code: 'http_cannot_listen',
      message: expect.stringContaining('set another address, or off'),
    })
    await web.close()
  })
})

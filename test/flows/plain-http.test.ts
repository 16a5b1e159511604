import { describe, expect, it } from 'vitest'
import { openForAll } from '../kit/open-for.ts'
import { openCliRig } from '../program/cli/rig.ts'

const rig = openForAll(() => openCliRig({ activities: 1 }))

/** Another address of this machine that does not look like loopback. */
const elsewhere = () => ({ MUSETTE_BASE_URL: rig.sandboxUrl.replace('127.0.0.1', '0.0.0.0') })
const PASSWORD = ['login', '--username', 'rider', '--password-stdin']

describe('login warns of plain http', () => {
  it.each([
    ['a password', PASSWORD, 'rider', 'your password and tokens'],
    ['a pasted address', ['login', '--paste'], '\n', 'tokens'],
  ])('with %s, before anything is sent', async (_what, args, input, what) => {
    const { stderr } = await rig.musette(args, { input, env: elsewhere() })
    const lines = stderr.split('\n').filter((line) => line.includes('is not https'))
    expect(lines).toEqual([
      `musette: ${elsewhere().MUSETTE_BASE_URL} is not https, so anybody on the way can read ${what}; stop here and set MUSETTE_BASE_URL=https://… unless you trust this network`,
    ])
    expect(stderr.startsWith(lines[0] ?? '-')).toBe(true)
  })

  it('only if the service is on another machine', async () => {
    const login = await rig.musette(PASSWORD, { input: 'rider' })
    expect(login).toMatchObject({ code: 0, stderr: '' })
  })
})

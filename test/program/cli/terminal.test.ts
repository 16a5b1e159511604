import { describe, expect, it } from 'vitest'
import { sleep } from '../../../src/kit/time.ts'
import { eventually } from '../../kit/eventually.ts'
import { openForAll } from '../../kit/open-for.ts'
import { distPath } from '../../kit/processes.ts'
import { startOnTerminal } from '../../kit/terminal.ts'
import { openCliRig } from './rig.ts'

const CTRL_C = '\x03'
const CTRL_D = '\x04'
const PASTE = ['login', '--paste', '--client-id', 'demo_app', '--client-secret', 'demo_secret']
const STOPPED = /musette: stopped before it finished; run it again to continue\r?\n$/

const rig = openForAll(() => openCliRig({ activities: 20, isSignedIn: true }))

const type = (args: string[], columns?: number, env: Record<string, string> = {}) =>
  startOnTerminal([distPath('main.js'), ...args], {
    cwd: rig.dataDir,
    env: { ...rig.env, MUSETTE_CONCURRENCY: '1', ...env },
    ...(columns && { columns }),
  })

describe('Ctrl-C', () => {
  it('stops a sync on a narrow terminal, which exits 130 with a sentence and ends its run', async () => {
    await rig.steer('PATCH', 'settings', { latency_ms: 50 })
    const sync = type(['sync'], 30)
    await eventually(() => /activities: [1-9]\d* of/.test(sync.screen()))
    sync.press(CTRL_C)
    const { code, screen } = await sync.finished
    expect({ code, screen }).toEqual({ code: 130, screen: expect.stringMatching(STOPPED) })
    const frames = screen.split('\n').slice(0, -2).join('\n').split('\r\x1b[2K')
    expect(frames.length).toBeGreaterThan(1)
    for (const frame of frames) expect(frame.replace(/\^C|\r/g, '').length).toBeLessThan(30)
    expect(await rig.rows(`select * from training.sync_runs where outcome = 'running'`)).toEqual([])
    await rig.steer('PATCH', 'settings', { latency_ms: 0 })
  })

  it('counts once if npx sends it twice, so a token refresh finishes; a later press ends it at once', async () => {
    await rig.steer('PATCH', 'settings', { reuse_revokes_grant: true })
    for (const isLater of [false, true]) {
      await rig.steer('DELETE', 'faults')
      const duration_ms = isLater ? 600_000 : 2_000
      await rig.steer('POST', 'faults', { path: '^/oauth/token$', kind: 'slow', duration_ms })
      await rig.steer('POST', 'tokens/expire', {})
      await rig.steer('POST', 'counts/reset')
      const sync = rig.start(['sync'])
      await eventually(async () => (await rig.steer<{ faults: number }>('GET', 'counts')).faults > 0)
      process.kill(sync.pid, 'SIGINT')
      // Two signals within half a second count as one.
      if (isLater) await sleep(600)
      process.kill(sync.pid, 'SIGINT')
      const { code, signal, stderr } = await sync.finished
      expect({ code, signal, stderr }).toEqual({
        ...{ code: 130, signal: null, stderr: expect.stringMatching(STOPPED) },
      })
      if (isLater) continue
      expect(await rig.musette(['sync', '--json'])).toMatchObject({ code: 0 })
      expect(await rig.rows('select needs_login from training.accounts')).toEqual([{ needs_login: false }])
    }
    await rig.steer('DELETE', 'faults')
  }, 180_000)
})

it.each([
  ['Ctrl-C for the user name', ['login'], 'User name', CTRL_C],
  ['Ctrl-D for the password', ['login', '--username', 'rider'], 'Password', CTRL_D],
  ['Ctrl-D for a pasted address', PASTE, 'Paste that address here', CTRL_D],
])('at a prompt, %s exits 130 with a sentence', async (_what, args, asked, key) => {
  const login = type(args)
  await eventually(() => login.screen().includes(asked))
  login.press(key)
  const { code, screen } = await login.finished
  expect(screen).toMatch(/musette: stopped before it finished; .*\r\n$/)
  expect(code).toBe(130)
})

it.each([
  ['offers the time zone of the machine', 'Asia/Tokyo', /your home[\s\S]*Asia\/Tokyo/, 'Asia/Tokyo'],
  ['does not offer UTC', 'UTC', /your home, such as Europe\/Berlin \(empty: none\)(?![\s\S]*Berlin)/, null],
])('a login on a terminal asks for the home time zone and %s', async (_what, zone, asks, timezone) => {
  const name = zone.toLowerCase().replace(/\W/, '-')
  const login = type(['login', name, '--username', 'rider'], 100, { TZ: zone })
  await eventually(() => login.screen().includes('Password'))
  login.press('rider\r')
  await eventually(() => asks.test(login.screen()))
  login.press('x\r')
  await eventually(() => login.screen().includes('Not a time zone'))
  login.press('\x7f\r')
  const { code, screen } = await login.finished
  expect(screen.includes(`the time zone of account "${name}" is ${timezone}`)).toBe(timezone !== null)
  expect(code).toBe(0)
  const set = await rig.rows(`select timezone from training.accounts where name = '${name}'`)
  expect(set).toEqual([{ timezone }])
})

import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { sleep } from '../../../src/kit/time.ts'
import { makeProgressLine } from '../../../src/program/frame/progress.ts'
import { readInput } from '../../../src/program/frame/prompt.ts'
import { eventually } from '../../kit/eventually.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { distPath } from '../../kit/processes.ts'
import { startOnTerminal } from '../../kit/terminal.ts'
import { type CliRig, openCliRig } from './rig.ts'

const ACTIVITIES = 40
const CTRL_C = '\x03'
const CTRL_D = '\x04'
const PASTE = ['login', '--paste', '--client-id', 'demo_app', '--client-secret', 'demo_secret']

let rig: CliRig
beforeAll(async () => {
  rig = await openCliRig({ activities: ACTIVITIES })
  await rig.signIn()
})
afterAll(() => rig.close())

const type = (args: string[], columns?: number, env: Record<string, string> = {}) =>
  startOnTerminal([distPath('main.js'), ...args], {
    cwd: rig.dataDir,
    env: { ...rig.env, MUSETTE_CONCURRENCY: '1', ...env },
    ...(columns && { columns }),
  })
const steer = (path: string, body: object, method = 'POST') => rig.steer(method, path, body)
const rows = (query: string) => queryOnce(rig.databaseUrl, query)

describe('Ctrl-C on a terminal', () => {
  beforeEach(async () => {
    await rows(`update training.activities set detail_state = 'wanted', summary_hash = null`)
    await steer('settings', { latency_ms: 50 }, 'PATCH')
  })

  it('during the progress of sync ends it with 130 and a sentence, and ends its run', async () => {
    const sync = type(['sync'])
    await eventually(() => /activities: [1-9]\d* of/.test(sync.screen()))
    sync.press(CTRL_C)
    expect(await sync.finished).toMatchObject({
      code: 130,
      screen: expect.stringMatching(
        /\nmusette: stopped before it was done; run it again to go on from here\r\n$/,
      ),
    })
    expect(await rows(`select * from training.sync_runs where outcome = 'running'`)).toEqual([])
    await steer('settings', { latency_ms: 0 }, 'PATCH')
    expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
  })

  it('that npx sends twice counts once: a running token refresh finishes', async () => {
    await steer('settings', { reuse_revokes_grant: true }, 'PATCH')
    await steer('faults', { path: '^/oauth/token$', kind: 'slow', duration_ms: 2_000 })
    await steer('tokens/expire', {})
    const sync = rig.start(['sync'])
    await eventually(async () => {
      return (await rig.steer<{ faults: number }>('GET', 'counts')).faults > 0
    })
    process.kill(sync.pid, 'SIGINT')
    process.kill(sync.pid, 'SIGINT')
    await new Promise((resolve) => setImmediate(resolve))
    process.kill(sync.pid, 'SIGINT')
    expect(await sync.finished).toMatchObject({ code: 130 })
    expect(await rig.musette(['sync', '--json'])).toMatchObject({ code: 0 })
    expect(await rows('select needs_login from training.accounts')).toEqual([{ needs_login: false }])
  }, 180_000)
})

it('a second Ctrl-C ends a sync that waits for a token at once, with the sentence', async () => {
  const own = await openCliRig({ activities: 1 })
  onTestFinished(() => own.close())
  await own.signIn()
  await own.steer('POST', 'faults', { path: '^/oauth/token$', kind: 'slow', duration_ms: 600_000 })
  await own.steer('POST', 'tokens/expire', {})
  const sync = own.start(['sync'])
  await eventually(async () => (await own.steer<{ faults: number }>('GET', 'counts')).faults > 0)
  process.kill(sync.pid, 'SIGINT')
  // Within half a second they count as one.
  await sleep(600)
  const end = await sync.kill('SIGINT')
  expect(end).toMatchObject({ code: 130, signal: null })
  expect(end.stderr).toMatch(/musette: stopped before it was done; run it again to go on from here\n$/)
})

describe('Ctrl-C and Ctrl-D at a prompt', () => {
  it.each([
    ['the user name, Ctrl-C', ['login'], 'User name', CTRL_C],
    ['the user name, Ctrl-D', ['login'], 'User name', CTRL_D],
    ['the password, Ctrl-C', ['login', '--username', 'rider'], 'Password', CTRL_C],
    ['the password, Ctrl-D', ['login', '--username', 'rider'], 'Password', CTRL_D],
    ['a pasted address, Ctrl-C', PASTE, 'Paste that address here', CTRL_C],
    ['a pasted address, Ctrl-D', PASTE, 'Paste that address here', CTRL_D],
  ])('for %s end with 130 and a sentence', async (_what, args, asked, key) => {
    const login = type(args)
    await eventually(() => login.screen().includes(asked))
    login.press(key)
    const { code, screen } = await login.finished
    expect(screen).toMatch(/musette: stopped before it was done; .*\r\n$/)
    expect(code).toBe(130)
  })
})

describe('a login on a terminal', () => {
  it('asks for the time zone of the home, and offers the one of the machine', async () => {
    const login = type(['login', '--username', 'rider'], 100, { TZ: 'Asia/Tokyo' })
    await eventually(() => login.screen().includes('Password'))
    login.press('rider\r')
    await eventually(() => /Time zone of your home[\s\S]*Asia\/Tokyo/.test(login.screen()))
    login.press('x\r')
    await eventually(() => login.screen().includes('Not a time zone'))
    login.press('\x7f\r')
    const { code, screen } = await login.finished
    expect(screen).toContain('the time zone of account "default" is Asia/Tokyo')
    expect(code).toBe(0)
    expect(await rows('select timezone, timezone_set_by from training.accounts')).toEqual([
      { timezone: 'Asia/Tokyo', timezone_set_by: 'account' },
    ])
  })
})

describe('a login on a machine without a time zone', () => {
  it('offers no time zone', async () => {
    const login = type(['login', 'utc', '--username', 'rider'], 100, { TZ: 'UTC' })
    await eventually(() => login.screen().includes('Password'))
    login.press('rider\r')
    await eventually(() =>
      /Time zone of your home, such as Europe\/Berlin \(empty: none\)/.test(login.screen()),
    )
    const asked = login.screen()
    expect(asked.slice(asked.indexOf('(empty: none)'))).not.toContain('Berlin')
    login.press('\r')
    expect((await login.finished).code).toBe(0)
    expect(await rows("select timezone from training.accounts where name = 'utc'")).toEqual([
      { timezone: null },
    ])
  })
})

describe('the wait for input', () => {
  it('ends when the verb is stopped', async () => {
    const stop = new AbortController()
    const reading = readInput(new PassThrough(), stop.signal)
    stop.abort()
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' })
  })
})

describe('the progress on a terminal', () => {
  it('stays on one line of a narrow terminal', async () => {
    await rows(`update training.activities set detail_state = 'wanted', summary_hash = null`)
    const { screen, code } = await type(['sync'], 30).finished
    expect(code).toBe(0)
    const frames = screen.split('\n').slice(0, -2).join('\n').split('\r\x1b[2K')
    expect(screen).toContain('activities: ')
    for (const frame of frames) expect(frame.replaceAll('\r', '').length).toBeLessThan(30)
  }, 180_000)

  it.each([10, 40, 88, 102, 200])('fits into %i columns with any text', (columns) => {
    const written: string[] = []
    let now = 0
    const terminal = { columns, write: (text: string) => written.push(text) }
    const line = makeProgressLine(
      { terminal: true, note: () => undefined },
      'activities',
      () => now,
      terminal,
    )
    for (let done = 0; done <= 100_000; done += 997) {
      now += 1_000
      line.show({ done, total: 100_000 })
    }
    expect(written.length).toBeGreaterThan(50)
    for (const frame of written) {
      expect(frame.startsWith('\r\x1b[2K') && frame.endsWith('\r')).toBe(true)
      const text = frame.slice('\r\x1b[2K'.length, -1)
      expect(text).not.toContain('\n')
      expect(text.length).toBeLessThan(columns)
    }
    line.finish('done')
    line.close()
    expect(written.at(-1)).toBe('\r\x1b[2Kdone\n')
  })
})

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeProgressLine } from '../../src/program/frame/progress.ts'
import { queryOnce } from '../kit/postgres.ts'
import { distPath } from '../kit/processes.ts'
import { startOnTerminal } from '../kit/terminal.ts'
import { type CliRig, openCliRig } from '../program/cli/rig.ts'

/** Sets the title of a terminal's window, rings, goes back to the line's start, and begins a sequence in one character. */
const ODD = 'odd\x1b]0;owned\x07\r\x9b2Jname'
const STEERS = ['\x1b]0;', '\x07', '\x9b', '\rname']

let rig: CliRig
beforeAll(async () => {
  rig = await openCliRig({ activities: 1 })
  await rig.signIn()
})
afterAll(() => rig.close())

const type = (args: string[], env: Record<string, string> = {}) =>
  startOnTerminal([distPath('main.js'), ...args], { cwd: rig.dataDir, env: { ...rig.env, ...env } }).finished
const fault = (path: string, body: object) =>
  rig.steer('POST', 'faults', {
    ...{ method: 'GET', path, kind: 'status', status: 200, times: 'always', body: JSON.stringify(body) },
  })

function expectHarmless(text: string): void {
  expect(text).toMatch(/\\x1B|\\u009B/)
  for (const steer of STEERS) expect(text).not.toContain(steer)
}

describe('names with terminal control characters are written as psql does', () => {
  it('in the lines of the log', async () => {
    const activities = [{ path: `${ODD}${'x'.repeat(1_000)}` }, { name: ODD }]
    await fault('^/oauth/activity$', { success: true, activities })
    const { screen } = await type(['sync'])
    expect(screen).toContain('list entries that cannot be read')
    expectHarmless(screen)
  }, 60_000)

  it('in the output of upload, resync, export and login, and in errors', async () => {
    const file = join(rig.dataDir, `${ODD}.fit`)
    await writeFile(file, 'no FIT file')
    for (const args of [
      ['upload', file],
      ['upload', `${file}.not-there`],
      ['resync', ODD],
      ['export', ODD],
      ['export', '--account', ODD, 'x'],
    ]) {
      const { stdout, stderr } = await rig.musette(args)
      expectHarmless(stdout + stderr)
    }
  }, 120_000)

  it('in the output of doctor, status and accounts, and escaped in their JSON', async () => {
    await queryOnce(
      rig.databaseUrl,
      `update training.accounts set name = $1, needs_login = true, last_error = $1`,
      [ODD],
    )
    for (const args of [['doctor'], ['status'], ['accounts']]) {
      const { stdout, stderr } = await rig.musette(args)
      expectHarmless(stdout + stderr)
      const json = await rig.musette([...args, '--json'])
      for (const steer of STEERS) expect(json.stdout).not.toContain(steer)
      expect(json.stdout).toContain(String.raw`odd\u001b]0;owned\u0007\r\u009b2Jname`)
      expect(JSON.stringify(JSON.parse(json.stdout))).toContain(JSON.stringify(ODD).slice(1, -1))
    }
  }, 120_000)

  it('in the last sentence of the progress', () => {
    const written: string[] = []
    const terminal = { columns: 80, write: (text: string) => written.push(text) }
    makeProgressLine({ terminal: true, note: () => undefined }, 'x', Date.now, terminal).finish(ODD)
    expectHarmless(written.join(''))
  })
})

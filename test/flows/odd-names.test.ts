import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openForAll } from '../kit/open-for.ts'
import { queryOnce } from '../kit/postgres.ts'
import { distPath } from '../kit/processes.ts'
import { startOnTerminal } from '../kit/terminal.ts'
import { openCliRig } from '../program/cli/rig.ts'

/**
 * Sets the title of a terminal's window, rings the bell, returns to the start of the line, and begins an escape sequence with one
 * character.
 */
const ODD = 'odd\x1b]0;owned\x07\r\x9b2Jname'
const STEERS = ['\x1b]0;', '\x07', '\x9b', '\rname']

const rig = openForAll(() => openCliRig({ activities: 1, isSignedIn: true }))

function expectHarmless(text: string): void {
  expect(text).toMatch(/\\x1B|\\u009B/)
  for (const steer of STEERS) expect(text).not.toContain(steer)
}

describe('terminal control characters in names are escaped as in psql', () => {
  it('in the lines of the log', async () => {
    const activities = [{ path: `${ODD}${'x'.repeat(1_000)}` }, { name: ODD }]
    const body = JSON.stringify({ success: true, activities })
    const answer = { path: '^/oauth/activity$', kind: 'status', status: 200, times: 'always', body }
    await rig.steer('POST', 'faults', { method: 'GET', ...answer })
    const sync = [distPath('main.js'), 'sync']
    const { screen } = await startOnTerminal(sync, { cwd: rig.dataDir, env: rig.env }).finished
    expect(screen).toContain('unreadable list entries')
    expectHarmless(screen)
  })

  it('in the output of each verb and in errors, and as JSON escapes in JSON', async () => {
    const file = join(rig.dataDir, `${ODD}.fit`)
    await writeFile(file, 'no FIT file')
    const ofNames = [
      ['upload', file],
      ['upload', `${file}.not-there`],
      ['resync', ODD],
      ['export', ODD],
    ]
    const ofState = [['doctor'], ['status'], ['accounts']]
    const type = async (args: string[]) => {
      const { stdout, stderr } = await rig.musette(args)
      expectHarmless(stdout + stderr)
    }
    for (const args of [...ofNames, ['export', '--account', ODD, 'x']]) await type(args)
    const odd = 'update training.accounts set name = $1, needs_login = true, last_error = $1'
    await queryOnce(rig.databaseUrl, odd, [ODD])
    for (const args of ofState) {
      await type(args)
      const json = await rig.musette([...args, '--json'])
      for (const steer of STEERS) expect(json.stdout).not.toContain(steer)
      expect(json.stdout).toContain(String.raw`odd\u001b]0;owned\u0007\r\u009b2Jname`)
      expect(JSON.stringify(JSON.parse(json.stdout))).toContain(JSON.stringify(ODD).slice(1, -1))
    }
  })
})

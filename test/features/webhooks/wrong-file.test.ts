import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openForAll } from '../../kit/open-for.ts'
import { distPath, startNode } from '../../kit/processes.ts'
import { openCliRig } from '../../program/cli/rig.ts'

const rig = openForAll(() => openCliRig({ activities: 1, isSignedIn: true }))

describe('a file of webhooks with a syntax error', () => {
  const WHY = 'MUSETTE_WEBHOOKS names a file that is not JSON'
  const write = async () => {
    const MUSETTE_WEBHOOKS = join(rig.dataDir, 'webhooks.json')
    await writeFile(MUSETTE_WEBHOOKS, '[{"name": "home"},]', { mode: 0o600 })
    return { MUSETTE_WEBHOOKS }
  }

  it('stops only the command webhook test, and is a finding of doctor', async () => {
    const env = await write()
    const sync = await rig.musette(['sync'], { env })
    expect(sync).toMatchObject({ code: 0, stderr: expect.stringContaining(`musette: ${WHY}\n`) })
    const status = await rig.musette(['status', '--json'], { env })
    expect(JSON.parse(status.stdout).findings).toContainEqual(
      expect.objectContaining({
        code: 'webhooks_wrong',
        found: `no messages are sent: ${WHY}`,
        run: 'musette config',
      }),
    )
    const refused = { code: 2, stderr: expect.stringContaining(WHY) }
    expect(await rig.musette(['webhook', 'test'], { env })).toMatchObject(refused)
    expect(await rig.musette(['config'], { env })).toMatchObject(refused)
  })

  it('does not prevent the start of the daemon', async () => {
    const env = { ...rig.env, ...(await write()), MUSETTE_HTTP: 'off' }
    const daemon = startNode([distPath('main.js'), 'start'], { env })
    onTestFinished(async () => void (await daemon.kill('SIGKILL')))
    await daemon.waitForLine(/"level":40.*MUSETTE_WEBHOOKS names a file that is not JSON/, 60_000)
    await daemon.waitForLine(/"msg":"started"/, 60_000)
    expect(await daemon.kill('SIGTERM')).toMatchObject({ code: 0 })
  })
})

import { describe, expect, it } from 'vitest'
import { openForAll } from '../../kit/open-for.ts'
import { openCliRig } from './rig.ts'

describe('musette verify', () => {
  const rig = openForAll(() => openCliRig({ activities: 3, longestActivitySeconds: 900, isSignedIn: true }))
  let path: string

  it('names the command before the first sync, and finds no difference after it', async () => {
    const none = { code: 0, stderr: expect.stringContaining('musette sync') }
    expect(await rig.musette(['verify'])).toMatchObject(none)
    await rig.musette(['sync'])
    const { code, stdout, stderr } = await rig.musette(['verify', '--all'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toContain('account "default": 3 of 3 activities are the same here and at the service')
    path = String((await rig.rows('select path from training.activities limit 1'))[0]?.path)
  })

  it('shows each differing field with both values, ends with 5, and repairs only on request', async () => {
    const where = `where activity_id = (select activity_id from training.activities where path = '${path}')`
    await rig.rows(`update training.samples set hr = hr + 1 ${where}`)
    await rig.rows(`update training.activities set xss = 1.5 ${where}`)
    const found = await rig.musette(['verify', path])
    expect(found.code).toBe(5)
    const lines = [
      'xss is 1.5 here and [0-9.]+ at the service',
      'samples.hr is \\d+ here and \\d+ at the service, the first of \\d+ values',
    ]
    for (const line of lines) expect(found.stdout).toMatch(new RegExp(`^${path}: ${line}$`, 'm'))
    expect(found.stderr).toContain('add --repair')
    const shown = (await rig.musette(['verify', '--all', '--json'])).stdout.trim().split('\n')
    expect(shown).toHaveLength(4)
    expect(JSON.parse(shown.at(-1) ?? '')).toMatchObject({
      ...{ account: 'default', compared: 3, equal: 2, different: 1, repaired: 0, failed: 0 },
    })
    const repaired = await rig.musette(['verify', path, '--repair'])
    expect(repaired.code).toBe(5)
    expect(repaired.stderr).toContain('1 of them are recorded as the service has them')
    expect(await rig.musette(['verify', '--sample', '3'])).toMatchObject({ code: 0 })
  })

  it('names what it cannot compare', async () => {
    await rig.steer('PATCH', `activities/${path}`, { broken: 'html' })
    const broken = await rig.musette(['verify', '--all'])
    expect(broken).toMatchObject({ code: 5, stderr: expect.stringContaining('1 could not be compared') })
    expect(broken.stdout).toContain(`${path}: `)
    await rig.steer('POST', 'faults', { path: '.*', kind: 'status', status: 503, times: 'always' })
    const { code, stderr } = await rig.musette(['verify', '--all'])
    expect([code, stderr.trim().split('\n').at(-1)]).toEqual([4, expect.stringContaining('service')])
  })
})

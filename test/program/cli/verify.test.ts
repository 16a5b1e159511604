import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { queryOnce } from '../../kit/postgres.ts'
import { type CliRig, openCliRig } from './rig.ts'

describe('musette verify', () => {
  let rig: CliRig
  let path: string
  beforeAll(async () => {
    rig = await openCliRig({ activities: 3, longestActivitySeconds: 900 })
  })
  afterAll(() => rig?.close())

  it('names the command before the first sync, and finds no difference after it', async () => {
    await rig.signIn()
    expect(await rig.musette(['verify'])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('musette sync'),
    })
    await rig.musette(['sync'])
    const { code, stdout, stderr } = await rig.musette(['verify', '--all'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toContain('account "default": 3 of 3 activities are the same here and at the service')
    const [row] = await queryOnce(rig.databaseUrl, 'select path from training.activities limit 1')
    path = String(row?.path)
  })

  it('shows each differing field with both values, ends with 5, and repairs only on request', async () => {
    await queryOnce(
      rig.databaseUrl,
      `update training.samples set hr = hr + 1 where activity_id = (select activity_id from training.activities where path = '${path}')`,
    )
    await queryOnce(rig.databaseUrl, `update training.activities set xss = 1.5 where path = '${path}'`)
    const xss = async () =>
      (await queryOnce(rig.databaseUrl, `select xss from training.activities where path = '${path}'`))[0]?.xss
    const found = await rig.musette(['verify', path])
    expect(found.code).toBe(5)
    expect(found.stdout).toMatch(new RegExp(`^${path}: xss is 1.5 here and [0-9.]+ at the service$`, 'm'))
    expect(found.stdout).toMatch(
      new RegExp(`^${path}: samples.hr is \\d+ here and \\d+ at the service, the first of \\d+ values$`, 'm'),
    )
    expect(found.stderr).toContain('add --repair')
    expect(await xss()).toBe(1.5)
    const lines = (await rig.musette(['verify', '--all', '--json'])).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines).toHaveLength(4)
    expect(lines.at(-1)).toMatchObject({
      account: 'default',
      compared: 3,
      equal: 2,
      different: 1,
      repaired: 0,
      failed: 0,
    })
    const repaired = await rig.musette(['verify', path, '--repair'])
    expect(repaired).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('1 of them are recorded as the service has them'),
    })
    expect(await xss()).not.toBe(1.5)
    expect(await rig.musette(['verify', '--sample', '3'])).toMatchObject({ code: 0 })
  })

  it('names what it cannot compare, with the command to type', async () => {
    const sentenceOf = async (...args: string[]) => {
      const { code, stderr } = await rig.musette(['verify', ...args])
      return [code, stderr] as const
    }
    expect(await sentenceOf('nowhere')).toEqual([2, expect.stringContaining('has no activity nowhere')])
    expect(await sentenceOf('--all', '--sample', '3')).toEqual([
      2,
      expect.stringContaining('musette verify --help'),
    ])
    expect(await sentenceOf('--sample', 'some')).toEqual([
      2,
      expect.stringContaining('--sample takes a whole number'),
    ])
    await rig.steer('PATCH', `activities/${path}`, { broken: 'html' })
    const broken = await rig.musette(['verify', '--all'])
    expect(broken).toMatchObject({ code: 5, stderr: expect.stringContaining('1 could not be compared') })
    expect(broken.stdout).toContain(`${path}: `)
    await rig.steer('POST', 'faults', { path: '.*', kind: 'status', status: 503, times: 'always' })
    const [code, sentence] = await sentenceOf('--all')
    expect([code, sentence.trim().split('\n').at(-1)]).toEqual([4, expect.stringContaining('service')])
  })
})

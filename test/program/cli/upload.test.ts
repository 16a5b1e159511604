import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openForAll } from '../../kit/open-for.ts'
import { makeRide } from '../../kit/ride.ts'
import { openCliRig } from './rig.ts'

// For a command or a daemon that dies before the answer, see test/core/upload/crash.test.ts.
describe('musette upload', () => {
  const rig = openForAll(() => openCliRig({ activities: 0, isSignedIn: true }))

  const write = (name: string, bytes: Uint8Array) => writeFile(join(rig.dataDir, name), bytes)
  const fault = (body: Record<string, unknown>) =>
    rig.steer('POST', 'faults', { path: '^/oauth/upload$', ...body })
  const uploads = async () => (await rig.steer<{ uploads: object }>('GET', 'counts')).uploads

  it('names the activity, recognizes the content, and sends it again only with --force', async () => {
    await write('ride.fit', makeRide())
    const first = await rig.musette(['upload', 'ride.fit', '--name', 'By hand'])
    expect(first).toMatchObject({ code: 0, stderr: '' })
    const path = /accepted, activity (\S+)/.exec(first.stdout)?.[1]
    expect(await rig.steer('GET', `activities/${path}`)).toMatchObject({ name: 'By hand' })
    await write('copy.fit', makeRide())
    const again = await rig.musette(['upload', 'copy.fit'])
    expect(again.code).toBe(0)
    expect(again.stdout).toContain(`activity ${path}, uploaded before as "ride.fit"`)
    expect(again.stdout).toContain('musette upload --force')
    expect(await uploads()).toEqual({ accepted: 1, refused: 0 })
    const forced = await rig.musette(['upload', '--force', 'copy.fit'])
    expect(forced.code).toBe(0)
    expect(forced.stdout).not.toContain(`${path}`)
    expect(await uploads()).toEqual({ accepted: 2, refused: 0 })
  })

  it('exits 5 if a file is refused, sends the others, and waits for a lost answer', async () => {
    await write('letter.fit', Buffer.from('no ride at all, but a letter to a friend'))
    await write('second.fit', makeRide({ seed: 2, start: '2026-05-04T08:00:00Z' }))
    await fault({ kind: 'lost-answer' })
    const mixed = await rig.musette(['upload', 'letter.fit', 'second.fit'])
    expect(mixed.code).toBe(5)
    expect(mixed.stdout).toMatch(/^letter\.fit: refused: /m)
    expect(mixed.stderr).toContain('unconfirmed')
    expect(mixed.stdout).toMatch(/^second\.fit: accepted, activity /m)
  })

  it('sends all other files before it waits for a lost answer', async () => {
    await write('lost.fit', makeRide({ seed: 11, start: '2026-05-05T08:00:00Z' }))
    await write('next.fit', makeRide({ seed: 12, start: '2026-05-06T08:00:00Z' }))
    await fault({ kind: 'lost-answer' })
    const both = await rig.musette(['upload', 'lost.fit', 'next.fit'])
    expect(both.code).toBe(0)
    expect(both.stdout).toMatch(/^next\.fit: accepted, .*\nlost\.fit: accepted, /)
  })

  it('exits 4 if the ride of a file is not fetched yet, sends the others, and names the command', async () => {
    const start = '2026-05-07T08:00:00Z'
    await rig.steer('POST', 'activities', { started_at: start, seconds: 600 })
    await write('listed.fit', makeRide({ seed: 13, start }))
    await write('after.fit', makeRide({ seed: 14, start: '2026-05-08T08:00:00Z' }))
    const both = await rig.musette(['upload', 'listed.fit', 'after.fit'])
    expect(both.code).toBe(4)
    expect(both.stdout).toMatch(/^after\.fit: accepted, /)
    expect(both.stderr).toContain('listed.fit: seen (activity ')
    expect(both.stderr).toContain('run: musette sync')
  })

  it.each(['attach', 'upload'])('makes %s refuse a pipe at once and read the other files', async (verb) => {
    execFileSync('/usr/bin/env', ['mkfifo', join(rig.dataDir, `${verb}.fifo`)])
    await write('empty.fit', new Uint8Array())
    await rig.musette(['sync'])
    const { code, stdout } = await rig.musette([verb, `${verb}.fifo`, 'empty.fit'])
    expect(code).toBe(5)
    expect(stdout).toMatch(/fifo: .*: it is a pipe, not a file\nempty\.fit: .*: the file is empty\n$/)
  })

  it('leaves known rides to attach, which attaches the file, sends nothing, and can be continued', async () => {
    await mkdir(join(rig.dataDir, 'years', '2026'), { recursive: true })
    await write('years/2026/seventh.fit', makeRide({ seed: 7, start: '2026-05-09T08:00:00Z' }))
    await write('years/elsewhere.fit', makeRide({ seed: 8, start: '2026-05-10T08:00:00Z' }))
    await rig.steer('PATCH', 'settings', { sample_delay_ms: 0 })
    await rig.musette(['upload', 'years/2026/seventh.fit'])
    await rig.musette(['sync'])
    const ledger = () => rig.rows(`select state from training.uploads where file_name = 'seventh.fit'`)
    await rig.rows(`delete from training.uploads where file_name = 'seventh.fit'`)
    await rig.steer('POST', 'counts/reset')
    const tried = await rig.musette(['attach', 'years', '--dry-run'])
    expect(tried.stdout).toMatch(/^years\/2026\/seventh\.fit: would be attached to activity \S+$/m)
    expect(await ledger()).toEqual([])
    const joined = await rig.musette(['attach', 'years'])
    expect(joined.code).toBe(5)
    expect(joined.stderr).toContain('account "default": 1 attached, 1 not attached')
    expect(joined.stdout).toContain('years/elsewhere.fit: not attached: no activity here has its start')
    expect(await ledger()).toEqual([{ state: 'attached' }])
    const again = await rig.musette(['attach', 'years/2026/seventh.fit', '--json'])
    expect(again.code).toBe(0)
    const lines = again.stdout.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { file: 'years/2026/seventh.fit', result: 'known', reason: 'attached as "seventh.fit"' },
      { account: 'default', attached: 0, known: 1, not_attached: 0 },
    ])
    const sent = await rig.musette(['upload', 'years/2026/seventh.fit'])
    expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining('not sent, attached to activity') })
    expect(await uploads()).toMatchObject({ accepted: 0 })
  })
})

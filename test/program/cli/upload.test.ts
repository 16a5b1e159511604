import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../kit/eventually.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { distPath } from '../../kit/processes.ts'
import { makeRide } from '../../kit/ride.ts'
import { type CliRig, openCliRig } from './rig.ts'

describe('musette upload', () => {
  let rig: CliRig
  beforeAll(async () => {
    rig = await openCliRig({ activities: 0 })
    await write('ride.fit', makeRide())
  })
  afterAll(() => rig.close())

  const write = (name: string, bytes: Uint8Array) => writeFile(join(rig.dataDir, name), bytes)
  const fault = (body: Record<string, unknown>) =>
    rig.steer('POST', 'faults', { path: '^/oauth/upload$', ...body })

  it('requires an existing file and an account', async () => {
    const missing = await rig.musette(['upload', 'nothing.fit'])
    expect(missing).toMatchObject({ code: 2, stdout: '' })
    expect(missing.stderr).toContain('nothing.fit')
    expect(await rig.musette(['upload'])).toMatchObject({ code: 2 })
    const nobody = await rig.musette(['upload', 'ride.fit'])
    expect(nobody.code).toBe(3)
    expect(nobody.stderr).toContain('run: musette login')
  })

  it('names the activity, recognizes the content, and sends it again only by force', async () => {
    await rig.signIn()
    const first = await rig.musette(['upload', 'ride.fit', '--name', 'By hand'])
    expect(first).toMatchObject({ code: 0, stderr: '' })
    const path = /accepted, activity (\S+)/.exec(first.stdout)?.[1]
    expect(await rig.steer('GET', `activities/${path}`)).toMatchObject({ name: 'By hand' })
    await write('copy.fit', makeRide())
    const again = await rig.musette(['upload', 'copy.fit'])
    expect(again.code).toBe(0)
    expect(again.stdout).toContain(`activity ${path}, uploaded before as "ride.fit"`)
    expect(again.stdout).toContain('musette upload --force')
    const { uploads } = await rig.steer<{ uploads: object }>('GET', 'counts')
    expect(uploads).toEqual({ accepted: 1, refused: 0 })
    const forced = await rig.musette(['upload', '--force', 'copy.fit'])
    expect(forced.code).toBe(0)
    expect(forced.stdout).not.toContain(`${path}`)
    expect(await rig.steer<{ uploads: object }>('GET', 'counts')).toMatchObject({ uploads: { accepted: 2 } })
  })

  it('keeps the file, which export returns byte for byte', async () => {
    await rig.musette(['sync'])
    const [kept] = await queryOnce(
      rig.databaseUrl,
      `select activity_path from training.uploads where file_name = 'ride.fit'`,
    )
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [distPath('main.js'), 'export', String(kept?.activity_path), '--format', 'fit'],
      { encoding: 'buffer', env: { PATH: process.env.PATH, ...rig.env } },
    )
    expect(stdout.equals(makeRide())).toBe(true)
  })

  it('ends with 5 when one of several is refused, and sends the others', async () => {
    await write('letter.fit', Buffer.from('no ride at all, but a letter to a friend'))
    await write('second.fit', makeRide({ seed: 2, start: '2026-05-04T08:00:00Z' }))
    const mixed = await rig.musette(['upload', 'letter.fit', 'second.fit'])
    expect(mixed.code).toBe(5)
    expect(mixed.stdout).toMatch(/^letter\.fit: refused: /m)
    expect(mixed.stdout).toMatch(/^second\.fit: accepted, activity /m)
  })

  it('ends with 4 at once when the service is away, and continues with the same command', async () => {
    await write('third.fit', makeRide({ seed: 3, start: '2026-05-05T08:00:00Z' }))
    await fault({ kind: 'status', status: 429, retry_after: 3600 })
    const away = await rig.musette(['upload', 'third.fit'])
    expect(away.code).toBe(4)
    expect(await rig.musette(['upload', 'third.fit'])).toMatchObject({ code: 0 })
  })

  it('waits for an answer that was lost until it is found', async () => {
    await write('fourth.fit', makeRide({ seed: 4, start: '2026-05-06T08:00:00Z' }))
    await fault({ kind: 'lost-answer' })
    const lost = await rig.musette(['upload', 'fourth.fit'])
    expect(lost.code).toBe(0)
    expect(lost.stderr).toContain('unconfirmed')
    expect(lost.stdout).toMatch(/^fourth\.fit: accepted, activity /m)
  })

  it('is replaced by attach for a known ride: attach joins its file, sends nothing, and can be continued', async () => {
    await mkdir(join(rig.dataDir, 'years', '2026'), { recursive: true })
    await write('years/2026/seventh.fit', makeRide({ seed: 7, start: '2026-05-09T08:00:00Z' }))
    await write('years/elsewhere.fit', makeRide({ seed: 8, start: '2026-05-10T08:00:00Z' }))
    await rig.steer('PATCH', 'settings', { sample_delay_ms: 0 })
    await rig.musette(['upload', 'years/2026/seventh.fit'])
    await rig.musette(['sync'])
    const ledger = () =>
      queryOnce(rig.databaseUrl, `select state from training.uploads where file_name = 'seventh.fit'`)
    await queryOnce(rig.databaseUrl, `delete from training.uploads where file_name = 'seventh.fit'`)
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
    expect(
      again.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { file: 'years/2026/seventh.fit', result: 'known', reason: 'attached as "seventh.fit"' },
      { account: 'default', attached: 0, known: 1, not_attached: 0 },
    ])
    const sent = await rig.musette(['upload', 'years/2026/seventh.fit'])
    expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining('not sent, attached to activity') })
    expect(await rig.steer('GET', 'counts')).toMatchObject({ uploads: { accepted: 0 } })
    expect(await rig.musette(['attach', 'nowhere'])).toMatchObject({ code: 2 })
  })

  it('that is killed before the answer is completed by the next one without sending again', async () => {
    await write('fifth.fit', makeRide({ seed: 5, start: '2026-05-07T08:00:00Z' }))
    await rig.steer('POST', 'counts/reset')
    await fault({ kind: 'slow', duration_ms: 60_000 })
    const killed = rig.start(['upload', 'fifth.fit'])
    await eventually(
      async () =>
        (await rig.steer<{ uploads: { accepted: number } }>('GET', 'counts')).uploads.accepted === 1,
    )
    await killed.kill('SIGKILL')
    // The dead sender's lease, which is a minute, is over.
    await queryOnce(
      rig.databaseUrl,
      `update training.uploads set next_try_at = now() where state = 'sending'`,
    )
    const next = await rig.musette(['upload', 'fifth.fit'])
    expect(next.code).toBe(0)
    expect(next.stdout).toMatch(/^fifth\.fit: accepted, activity /m)
    expect(await rig.steer('GET', 'counts')).toMatchObject({ uploads: { accepted: 1 } })
  })

  it('and a daemon killed before the answer make one activity', async () => {
    const drop = join(rig.dataDir, 'drop')
    await mkdir(drop, { recursive: true })
    await writeFile(join(drop, 'sixth.fit'), makeRide({ seed: 6, start: '2026-05-08T08:00:00Z' }))
    await rig.steer('POST', 'counts/reset')
    await fault({ kind: 'slow', duration_ms: 60_000 })
    const accepted = async () =>
      (await rig.steer<{ uploads: { accepted: number } }>('GET', 'counts')).uploads.accepted
    const first = rig.start(['start'])
    await eventually(async () => (await accepted()) === 1)
    await first.kill('SIGKILL')
    await queryOnce(
      rig.databaseUrl,
      `update training.uploads set next_try_at = now() where state = 'sending'`,
    )
    const second = rig.start(['start'])
    const state = `select state from training.uploads where file_name = 'sixth.fit'`
    await eventually(async () => (await queryOnce(rig.databaseUrl, state))[0]?.state === 'mirrored', {
      everyMs: 200,
    })
    await eventually(async () => existsSync(join(drop, 'done')) && !existsSync(join(drop, 'sixth.fit')))
    expect(await second.kill('SIGTERM')).toMatchObject({ code: 0 })
    expect(await accepted()).toBe(1)
  }, 120_000)
})

import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Daemon, openDaemon } from '../../../src/program/daemon/daemon.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeRide } from '../../kit/ride.ts'

let rig: Rig
let daemons: Daemon[]
beforeEach(async () => {
  rig = await openRig({ activities: 0, env: { MUSETTE_HTTP: 'off' } })
  daemons = []
})
afterEach(async () => {
  for (const daemon of daemons) await daemon.close()
  await rig.close()
})

const STORY = `select u.state, u.attempts, a.xss > 0 as scored, a.sample_count
  from training.uploads u left join training.activities a using (activity_id) order by u.started_at`

async function start(): Promise<Daemon> {
  const daemon = await openDaemon(rig.app.config, rig.log.log, {
    roles: ['scheduler', 'worker', 'watcher'],
    signal: new AbortController().signal,
  })
  daemons.push(daemon)
  return daemon
}

const dropDir = () => join(rig.dataDir, 'drop')

async function drop(name: string, bytes: Uint8Array): Promise<void> {
  await mkdir(dropDir(), { recursive: true })
  await writeFile(join(dropDir(), `${name}.part`), bytes)
  await rename(join(dropDir(), `${name}.part`), join(dropDir(), name))
}

async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(join(dropDir(), folder), { recursive: true, withFileTypes: true }).catch(
    () => [],
  )
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name)
}

describe('the daemon', () => {
  it('mirrors a dropped file with samples and scores, and moves it to done', async () => {
    await start()
    await drop('Évening räce.fit', makeRide())
    await eventually(async () => (await rig.rows(STORY))[0]?.state === 'mirrored')
    expect(await rig.rows(STORY)).toEqual([
      { state: 'mirrored', attempts: 1, scored: true, sample_count: 60 },
    ])
    await eventually(async () => (await filesUnder('done')).includes('Évening räce.fit'))
  })

  it('writes the reason of a refusal to failed/, and sends the file again when it is moved back', async () => {
    await rig.steer('POST', 'faults', { path: '^/oauth/upload$', kind: 'status', status: 422 })
    await start()
    await drop('ride.fit', makeRide())
    await eventually(async () => (await filesUnder('failed')).includes('ride.fit.txt'))
    const text = await readFile(join(dropDir(), 'failed', 'ride.fit.txt'), 'utf8')
    expect(text).toContain('status 422')
    expect(text).toContain('move the file back')
    await rename(join(dropDir(), 'failed', 'ride.fit'), join(dropDir(), 'ride.fit'))
    await eventually(async () => (await rig.rows(STORY))[0]?.state === 'mirrored')
    await eventually(async () => (await filesUnder('done')).includes('ride.fit'))
  })

  it('recovers after a lost answer and a failing service', async () => {
    await rig.steer('POST', 'faults', { path: '^/oauth/upload$', kind: 'lost-answer' })
    await rig.steer('POST', 'faults', {
      path: '^/oauth/upload$',
      kind: 'status',
      status: 429,
      retry_after: 1,
    })
    await start()
    await drop('one.fit', makeRide())
    await drop('two.fit', makeRide({ seed: 2, start: '2026-05-04T08:00:00Z' }))
    const mirrored = async () => (await rig.rows(STORY)).filter(({ state }) => state === 'mirrored')
    await eventually(async () => (await mirrored()).length === 2)
    await eventually(async () => (await filesUnder('done')).length === 2)
    expect((await rig.steer('GET', 'counts')).uploads).toEqual({ accepted: 2, refused: 0 })
  })

  it('shares a folder with another daemon, and each file is sent once', async () => {
    await Promise.all([start(), start()])
    for (let day = 1; day <= 9; day++) {
      await drop(`ride-${day}.fit`, makeRide({ seed: day, start: `2026-05-0${day}T08:00:00Z` }))
    }
    // While both move one file, it has two names in done/ for a moment.
    const all = Array.from({ length: 9 }, (_, day) => `ride-${day + 1}.fit`).join()
    await eventually(async () => (await filesUnder('done')).sort().join() === all)
    expect((await rig.steer('GET', 'counts')).uploads).toEqual({ accepted: 9, refused: 0 })
    expect(await filesUnder('failed')).toEqual([])
  })
})

import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { openDaemon } from '../../../src/program/daemon/daemon.ts'
import { openRig } from '../../core/mirror/rig.ts'
import { eventually } from '../../kit/eventually.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { makeRide } from '../../kit/ride.ts'

const rig = openForAll(() => openRig({ activities: 0, env: { MUSETTE_HTTP: 'off' } }))
const start = () => {
  const { signal } = new AbortController()
  return openDaemon(rig.app.config, rig.log.log, { roles: ['scheduler', 'worker', 'watcher'], signal })
}
let dropDir: string
beforeAll(async () => {
  dropDir = join(rig.dataDir, 'drop')
  await mkdir(dropDir)
})
openForAll(start)

const stateOf = async (name: string) =>
  (
    await rig.rows(
      `select u.state, u.attempts, a.xss > 0 as scored, a.sample_count
       from training.uploads u left join training.activities a using (activity_id) where file_name = $1`,
      [name],
    )
  )[0]

async function drop(name: string, bytes: Uint8Array): Promise<void> {
  await writeFile(join(dropDir, `${name}.part`), bytes)
  await rename(join(dropDir, `${name}.part`), join(dropDir, name))
}

async function filesUnder(folder: string): Promise<string[]> {
  const all = await readdir(join(dropDir, folder), { recursive: true, withFileTypes: true }).catch(() => [])
  return all.filter((entry) => entry.isFile()).map((entry) => entry.name)
}

describe('the daemon', () => {
  it('mirrors a dropped file with samples and scores, and moves it to done/', async () => {
    const name = 'Évening räce.fit'
    await drop(name, makeRide())
    await eventually(async () => (await stateOf(name))?.state === 'mirrored')
    expect(await stateOf(name)).toEqual({ state: 'mirrored', attempts: 1, scored: true, sample_count: 60 })
    await eventually(async () => (await filesUnder('done')).includes(name))
  })

  it('writes the reason of a refusal to failed/, and uploads the file again when it is moved back', async () => {
    await rig.steer('POST', 'faults', { path: '^/oauth/upload$', kind: 'status', status: 422 })
    await drop('ride.fit', makeRide({ seed: 20, start: '2026-05-20T08:00:00Z' }))
    await eventually(async () => (await filesUnder('failed')).includes('ride.fit.txt'))
    const text = await readFile(join(dropDir, 'failed', 'ride.fit.txt'), 'utf8')
    expect(text).toContain('status 422')
    expect(text).toContain('move the file back')
    await rename(join(dropDir, 'failed', 'ride.fit'), join(dropDir, 'ride.fit'))
    await eventually(async () => (await stateOf('ride.fit'))?.state === 'mirrored')
    await eventually(async () => (await filesUnder('done')).includes('ride.fit'))
  })

  it('shares a folder with another daemon, and each file is uploaded once', async () => {
    await openForTest(start())
    await rig.steer('POST', 'counts/reset')
    const names = Array.from({ length: 9 }, (_, day) => `ride-${day + 1}.fit`)
    for (const [day, name] of names.entries())
      await drop(name, makeRide({ seed: day + 1, start: `2026-06-0${day + 1}T08:00:00Z` }))
    // While both move the same file, it has two names in done/ for a moment.
    const moved = async () => (await filesUnder('done')).filter((name) => name.startsWith('ride-')).sort()
    await eventually(async () => (await moved()).join() === names.join())
    expect((await rig.steer('GET', 'counts')).uploads).toEqual({ accepted: 9, refused: 0 })
  })
})

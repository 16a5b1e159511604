import { link, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeRide } from '../../kit/ride.ts'
import { listAll, openRig, type Rig } from './rig.ts'

let rig: Rig

const ride = makeRide()
const month = new Date(Date.now() + 60_000).toISOString().slice(0, 7)

/** Creates the files of a process that was killed after it gave a file its hidden name; `alone`: without a second name. */
async function leaveUnfinished(dir: string, folder: string, alone = false): Promise<void> {
  const aside = join(dir, folder, '.moving-0123456789abcdef-ride.fit')
  await mkdir(join(dir, folder), { recursive: true })
  await writeFile(aside, ride)
  if (!alone) await link(aside, join(dir, folder, 'ride.fit'))
}

describe('a move that a killed daemon left unfinished', () => {
  it('is finished at the next start', async () => {
    const folders = ['anna/done/2026-01', 'anna/failed', 'done/2026-01', 'failed']
    rig = await openRig({
      accounts: async () => ['default', 'anna'],
      before: async (dir) => {
        for (const folder of folders) await leaveUnfinished(dir, folder)
      },
    })
    const files = listAll(rig.dir).filter((path) => !path.endsWith('/'))
    expect(files).toEqual(folders.map((folder) => `${folder}/ride.fit`))
    expect(rig.imported).toEqual([])
  })

  it('is undone if the file has no second name, and the file is imported', async () => {
    rig = await openRig({ before: (dir) => leaveUnfinished(dir, 'failed', true) })
    await rig.folder.scan()
    expect(rig.imported.map((file) => file.name)).toEqual(['ride.fit'])
    expect(await readFile(join(rig.dir, `done/${month}/ride.fit`))).toEqual(ride)
    expect(listAll(rig.dir).join()).not.toContain('.moving-')
  })

  it('is finished by the next scan if it is in a scanned folder', async () => {
    rig = await openRig()
    await leaveUnfinished(rig.dir, '2026/may')
    await rig.folder.scan()
    await rig.folder.scan()
    expect(listAll(rig.dir).join()).not.toContain('.moving-')
  })

  it('stays unfinished in keep mode', async () => {
    rig = await openRig({ afterUpload: 'keep', before: (dir) => leaveUnfinished(dir, 'failed') })
    expect(listAll(rig.dir)).toContain('failed/.moving-0123456789abcdef-ride.fit')
  })
})

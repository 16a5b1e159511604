import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdir, rename, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeRide } from '../../kit/ride.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { drop, openRig, type Rig, readOpen } from './rig.ts'

const ride = makeRide()
let rig: Rig

const importedPaths = () => rig.imported.map((file) => `${file.account}:${file.relativePath}`).sort()

describe('the scan', () => {
  it('leaves out hidden files, and the folders of sync tools and stores', async () => {
    rig = await openRig({ afterUpload: 'keep', accounts: async () => ['default', 'anna', '@eaDir'] })
    const folders = ['@eaDir', 'anna/.stfolder', 'anna/@eaDir', 'anna/#recycle', 'done/2026-01', 'failed']
    const ignored = [
      ...['.ride.fit', '._ride.fit', '.syncthing.ride.fit.tmp', 'notes.txt', 'ride.tcx'],
      ...[...folders, 'anna/done/2026-01', 'anna/failed'].map((folder) => `${folder}/ride.fit`),
    ]
    const taken = ['anna/2026/done/ride.fit', 'anna/2026/march/ride.FIT']
    for (const name of [...ignored, 'ride.fit', ...taken]) await drop(rig.dir, name, ride)
    await rig.folder.scan()
    expect(importedPaths()).toEqual([...taken.map((path) => `anna:${path}`), 'default:ride.fit'])
  })

  it('accepts every name except those of unfinished files, which wait with the name of their program', async () => {
    rig = await openRig({ accounts: async () => ['default', 'anna'] })
    const taken = ['#1 tour.fit', '~tour.fit', 'tour.fit~', 'anna/#1 rides/~x/tour.zip', '#tour.fit.gz']
    const waiting = ['~syncthing~a.fit', 'a.fit.part', 'b.FIT.crdownload', 'anna/c.zip.tmp', 'd.fit.gz.!sync']
    for (const name of [...taken, ...waiting, 'a.part', 'a.fit.download/a.fit', 'a.fit.txt']) {
      await drop(rig.dir, name, ride)
    }
    await rig.folder.scan()
    await rig.scanAfter(61_000)
    expect(rig.imported.map((file) => file.relativePath).sort()).toEqual(taken.sort())
    const reported = rig.report().map(({ code, relativePath }) => `${code} ${relativePath}`)
    expect(reported.sort()).toEqual(waiting.map((name) => `unfinished_name ${name}`).sort())
    const reasons = rig.report().map(({ reason }) => reason.split(' names')[0])
    expect(reasons.sort()).toEqual(['Chrome', 'Firefox', 'OneDrive', 'Resilio Sync', 'Syncthing'])
    await rename(join(rig.dir, 'a.fit.part'), join(rig.dir, 'a.fit'))
    await rig.folder.scan()
    expect(rig.imported.at(-1)?.name).toBe('a.fit')
  })

  it('keeps files of unknown accounts, says so once with the command, and imports them after the login', async () => {
    const accounts = ['default']
    rig = await openRig({ accounts: async () => accounts })
    await drop(rig.dir, 'berta/ride.fit', ride)
    await rig.drop('empty/notes.txt')
    await rig.folder.scan()
    const said = rig.warnings()
    expect(said).toEqual([expect.stringContaining('musette login berta')])
    accounts.push('berta')
    await rig.folder.scan()
    expect(importedPaths()).toEqual(['berta:berta/ride.fit'])
  })

  it('follows no link out of the folder and opens no pipe', async () => {
    const outside = await openTempDir('outside')
    try {
      await drop(outside.path, 'secret.fit', ride)
      rig = await openRig({ accounts: async () => ['default', 'anna'] })
      await symlink(join(outside.path, 'secret.fit'), join(rig.dir, 'link.fit'))
      await symlink(outside.path, join(rig.dir, 'anna'))
      execFileSync('/usr/bin/env', ['mkfifo', join(rig.dir, 'pipe.fit')])
      await mkdir(join(rig.dir, 'folder.fit'))
      await rig.folder.scan()
      expect(rig.imported).toEqual([])
      expect(readdirSync(outside.path)).toEqual(['secret.fit'])
    } finally {
      await outside.close()
    }
  })

  it('refuses a file whose folder was replaced by a link after it was found', async () => {
    const outside = await openTempDir('outside')
    try {
      const read: unknown[] = []
      rig = await openRig({
        accounts: async () => ['anna'],
        importFile: async (_, open) => {
          await rename(join(rig.dir, 'anna'), join(outside.path, 'anna'))
          await symlink(join(outside.path, 'anna'), join(rig.dir, 'anna'))
          await readOpen(open).catch((error: unknown) => read.push(error))
          return { action: 'wait' }
        },
      })
      await rig.drop('anna/ride.fit')
      expect(read).toMatchObject([{ code: 'not_a_folder' }])
    } finally {
      await outside.close()
    }
  })

  it('handles names that are not UTF-8, in other scripts, and of 255 bytes', async () => {
    rig = await openRig({
      importFile: async (_, open) =>
        (await readOpen(open)).equals(ride) ? { action: 'done' } : { action: 'keep' },
    })
    const names = [
      Buffer.from('Fahrtü\xff.fit', 'latin1'),
      Buffer.from('Morgenfahrt 🚴 über Łódź 東京.fit'),
      Buffer.from(`${'ü'.repeat(125)}x.fit`),
    ]
    expect(names[2]).toHaveLength(255)
    for (let round = 0; round < 2; round++) {
      for (const name of names) await drop(rig.dir, name, ride)
      await rig.folder.scan()
    }
    const month = readdirSync(join(rig.dir, 'done'))[0] ?? ''
    const done = readdirSync(join(rig.dir, 'done', month), { encoding: 'buffer' })
    expect(done).toHaveLength(6)
    for (const name of names) expect(done.some((each) => each.equals(name))).toBe(true)
    expect(done.every((name) => name.length <= 255)).toBe(true)
    expect(done.map(String)).toContain('Morgenfahrt 🚴 über Łódź 東京 (2).fit')
    expect(done.map(String)).toContain(`${'ü'.repeat(123)} (2).fit`)
  })

  it('imports files in the order of their dates', async () => {
    rig = await openRig({
      concurrency: 1,
      afterUpload: 'keep',
      before: async (dir) => {
        for (const [name, day] of Object.entries({ c: 3, a: 1, b: 2 })) {
          await writeFile(join(dir, `${name}.fit`), ride)
          await utimes(join(dir, `${name}.fit`), 1e9, 1e9 + day)
        }
      },
    })
    await rig.folder.scan()
    expect(rig.imported.map((file) => file.name)).toEqual(['a.fit', 'b.fit', 'c.fit'])
  })
})

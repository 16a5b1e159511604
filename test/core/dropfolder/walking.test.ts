import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { chmod, mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { walkFolder } from '../../../src/core/dropfolder/walk-folder.ts'
import { isDroppable } from '../../../src/core/fit/fit-names.ts'
import { openForTest } from '../../kit/open-for.ts'
import { asOrdinaryUser } from '../../kit/ordinary-user.ts'
import { makeRide } from '../../kit/ride.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { drop, openRig, type Rig, readOpen } from './rig.ts'

const ride = makeRide()
let rig: Rig

const importedPaths = () => rig.imported.map((file) => `${file.account}:${file.relativePath}`).sort()

describe('the scan', () => {
  it('skips hidden files, and the folders of sync tools and network storage', async () => {
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

  it('accepts every file name, but lets unfinished files wait and names their program', async () => {
    rig = await openRig({ accounts: async () => ['default', 'anna'] })
    const taken = ['#1 tour.fit', '~tour.fit', 'tour.fit~', 'anna/#1 rides/~x/tour.zip', '#tour.fit.gz']
    const waiting = ['~syncthing~a.fit', 'a.fit.part', 'b.FIT.crdownload', 'anna/c.zip.tmp', 'd.fit.gz.!sync']
    for (const name of [...taken, ...waiting, 'a.part', 'a.fit.download/a.fit']) {
      await drop(rig.dir, name, ride)
    }
    await rig.folder.scan()
    await rig.scanAfter(61_000)
    expect(rig.imported.map((file) => file.relativePath).sort()).toEqual(taken.sort())
    const reported = rig.report().map(({ code, relativePath }) => `${code} ${relativePath}`)
    expect(reported.sort()).toEqual(waiting.map((name) => `unfinished_name ${name}`).sort())
    const reasons = rig.report().map(({ reason }) => reason.split(' uses')[0])
    expect(reasons.sort()).toEqual(['Chrome', 'Firefox', 'OneDrive', 'Resilio Sync', 'Syncthing'])
    await rename(join(rig.dir, 'a.fit.part'), join(rig.dir, 'a.fit'))
    await rig.folder.scan()
    expect(rig.imported.at(-1)?.name).toBe('a.fit')
  })

  it('shows files that are not FIT with the reason, in one log line, and no system file', async () => {
    rig = await openRig({ accounts: async () => ['default', 'anna'] })
    const socket = await openForTest(createServer())
    await mkdir(join(rig.dir, 'anna'))
    socket.listen(join(rig.dir, 'socket.fit'))
    for (const link of ['link.fit', 'to-folder', 'gone.fit']) await symlink(rig.dir, join(rig.dir, link))
    execFileSync('/usr/bin/env', ['mkfifo', join(rig.dir, 'pipe.fit')])
    const odd = {
      'ride.gpx': 'FIT files only',
      'anna/ride.TCX.gz': 'FIT files only',
      'a.fit.txt': 'ends in .txt',
    }
    const silent = ['.DS_Store', 'Thumbs.db', 'desktop.ini', '._ride.gpx', '@eaDir/ride.gpx', 'notes.txt']
    const finished = ['failed/b.fit.txt', 'anna/failed/c.fit.txt', 'done/2026-01/d.gpx']
    for (const name of [...Object.keys(odd), ...silent, ...finished])
      await drop(rig.dir, name, Buffer.from('x'))
    await rig.folder.scan()
    await rig.folder.scan()
    const links = ['gone.fit', 'link.fit', 'to-folder'].map((name) => [
      name,
      'it is a link, and musette follows no links',
    ])
    const kinds = [...links, ['pipe.fit', 'it is a pipe'], ['socket.fit', 'it is a socket']]
    const expected = [...Object.entries(odd), ...kinds] as Array<[string, string]>
    expect(
      rig
        .report()
        .map(({ code, relativePath }) => [code, relativePath])
        .sort(),
    ).toEqual(expected.map(([name]) => ['not_taken', name]).sort())
    for (const [name, reason] of expected)
      expect(rig.report().find(({ relativePath }) => relativePath === name)?.reason).toContain(reason)
    expect(rig.report().find(({ relativePath }) => relativePath.startsWith('anna'))?.account).toBe('anna')
    expect(rig.warnings()).toEqual([
      expect.stringMatching(/ is not imported: .*; 7 more, run: musette status$/),
    ])
    for (const [name] of expected) await rm(join(rig.dir, name), { force: true })
    await rig.folder.scan()
    expect(rig.report()).toEqual([])
  })

  it('shows the first 20 of 1,000 GPX files, and how many more there are', async () => {
    rig = await openRig({
      before: async (dir) => {
        for (let n = 0; n < 1_000; n++) await writeFile(join(dir, `${n}.gpx`), '')
      },
    })
    expect(rig.report()).toHaveLength(21)
    expect(rig.report().at(-1)).toMatchObject({ code: 'not_taken', relativePath: '980 more' })
    expect(rig.warnings()).toHaveLength(1)
  })

  it('continues after unreadable folders, and names each', async () => {
    const { path: dir } = await openForTest(openTempDir('locked'))
    for (const folder of ['a', 'locked', 'shut', 'z']) await drop(dir, `${folder}/ride.fit`, ride)
    await chmod(dir, 0o755)
    for (const folder of ['locked', 'shut']) await chmod(join(dir, folder), 0)
    const accounts = ['a', 'locked', 'shut', 'z']
    const walked = await asOrdinaryUser(() => walkFolder(dir, { accounts, isDroppable }))
    expect(walked.found.map(({ relativePath }) => relativePath).sort()).toEqual(['a/ride.fit', 'z/ride.fit'])
    expect(walked.unreadable).toMatchObject([
      { folder: 'locked', error: { code: 'EACCES' } },
      { folder: 'shut', error: { code: 'EACCES' } },
    ])
    for (const folder of ['locked', 'shut']) await chmod(join(dir, folder), 0o755)
  })

  it('keeps an unknown account’s files, names the command once, imports after the login', async () => {
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

  it('refuses a file if a link replaced its folder after it was found', async () => {
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

  it('imports files whose names are not UTF-8, not Latin, or 255 bytes long', async () => {
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
    expect(rig.imported.map(({ relativePath }) => relativePath)).toContain('Fahrtüÿ.fit')
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

import { execFileSync } from 'node:child_process'
import { appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { finishFile } from '../../../src/core/dropfolder/claim-file.ts'
import { makeProblems } from '../../../src/core/dropfolder/folder-report.ts'
import { moveByRename } from '../../../src/core/dropfolder/move-to-folder.ts'
import { movedFiles } from '../../../src/core/dropfolder/moved-files.ts'
import { makeSeenFiles } from '../../../src/core/dropfolder/seen-files.ts'
import { walkFolder } from '../../../src/core/dropfolder/walk-folder.ts'
import { MusetteError } from '../../../src/kit/errors.ts'
import { openFolder } from '../../../src/kit/folders/folder.ts'
import { probeDisk } from '../../../src/kit/folders/probe-disk.ts'
import { closeAfter } from '../../../src/kit/release-stack.ts'
import { DISKS, openDisk, whyNoDisk } from '../../kit/disks.ts'
import { makeTestLog } from '../../kit/log.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { makeRide } from '../../kit/ride.ts'
import { canMount, openSmallDisk } from '../../kit/small-disk.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { listAll, openRig } from './rig.ts'

const ride = makeRide()
const other = makeRide({ seed: 2, start: '2026-05-03T09:00:00Z' })
const done = `done/${new Date(Date.now() + 60_000).toISOString().slice(0, 7)}`
const filesIn = (dir: string) => listAll(dir).filter((path) => !path.endsWith('/'))
/** More imports than files: the test ends even if a file keeps coming back. */
const MOST_IMPORTS = 10

describe.each(DISKS)('a drop folder on %s', (kind) => {
  const why = whyNoDisk(kind)
  const disk = why === undefined ? openForAll(() => openDisk(kind)) : undefined

  async function openOn(name: string, before: (dir: string) => Promise<unknown> = async () => undefined) {
    const dir = join(disk?.path ?? '', name)
    await mkdir(dir)
    let imports = 0
    const rig = await openRig({
      dir,
      before,
      importFile: async ({ name }) => {
        imports += 1
        if (imports > MOST_IMPORTS) return { action: 'keep' }
        return name === 'bad.fit' ? { action: 'failed', text: 'it is bad' } : { action: 'done' }
      },
    })
    const scan = async () => {
      for (let i = 0; i < 4; i++) await rig.folder.scan()
    }
    return { ...rig, scan, read: (path: string) => readFile(join(dir, path)) }
  }

  it('imports each file once and leaves no other file', async ({ skip }) => {
    skip(why !== undefined, why)
    const rig = await openOn('once')
    await rig.drop('ride.fit')
    await rig.drop('ride.fit', other)
    await rig.drop('bad.fit')
    await rig.scan()
    const moved = [`${done}/ride (2).fit`, `${done}/ride.fit`, 'failed/bad.fit', 'failed/bad.fit.txt']
    expect(filesIn(rig.dir)).toEqual(moved)
    expect(await rig.read(`${done}/ride.fit`)).toEqual(ride)
    expect(await rig.read(`${done}/ride (2).fit`)).toEqual(other)
    expect(rig.imported.map(({ name }) => name)).toEqual(['ride.fit', 'ride.fit', 'bad.fit'])
    expect(rig.warnings()).toEqual([])
  })

  it('moves a file back if it is written to after its move', async ({ skip }) => {
    skip(why !== undefined, why)
    const rig = await openOn('written')
    await rig.drop('ride.fit')
    await appendFile(join(rig.dir, `${done}/ride.fit`), other)
    await rig.scan()
    expect(rig.imported.map(({ sizeBytes }) => sizeBytes)).toEqual([ride.length, ride.length + other.length])
    expect(filesIn(rig.dir)).toEqual([`${done}/ride.fit`])
  })

  it('imports each file once after the daemon was killed', async ({ skip }) => {
    skip(why !== undefined, why)
    const rig = await openOn('killed', async (dir) => {
      await mkdir(join(dir, done), { recursive: true })
      await writeFile(join(dir, done, '.moving-0123456789abcdef-aside.fit'), ride)
      // The name was reserved, but the file not moved yet.
      await writeFile(join(dir, done, 'reserved.fit'), '')
      await writeFile(join(dir, 'reserved.fit'), other)
    })
    await rig.scan()
    expect(rig.imported.map(({ name }) => name).sort()).toEqual(['aside.fit', 'reserved.fit'])
    expect(filesIn(rig.dir)).toEqual([
      `${done}/aside.fit`,
      `${done}/reserved (2).fit`,
      `${done}/reserved.fit`,
    ])
    expect(await rig.read(`${done}/aside.fit`)).toEqual(ride)
    expect(await rig.read(`${done}/reserved (2).fit`)).toEqual(other)
  })

  it('is probed without leaving a file', async ({ skip }) => {
    skip(why !== undefined, why)
    const dir = join(disk?.path ?? '', 'probed')
    await mkdir(dir)
    const found = await closeAfter(await openFolder(dir), probeDisk)
    expect(found).toEqual({
      hasLinks: kind === 'a local disk',
      isExclusive: true,
      ignoresCase: kind.startsWith('exfat'),
    })
    expect(listAll(dir)).toEqual([])
  })
})

describe.runIf(canMount())('a drop folder on a disk', () => {
  const remount = (dir: string, how: string) => execFileSync('mount', ['-o', `remount,${how}`, dir])

  it.each([
    [
      'that is read-only',
      async (dir: string) => remount(dir, 'ro'),
      async (dir: string) => remount(dir, 'rw'),
    ],
    [
      'that has no room for another entry',
      async (dir: string) => {
        const fill = async () => {
          for (let i = 0; i < 100; i++) await writeFile(join(dir, `.filler-${i}`), '')
        }
        await expect(fill()).rejects.toMatchObject({ code: 'ENOSPC' })
      },
      async (dir: string) => {
        for (let i = 0; i < 10; i++) await rm(join(dir, `.filler-${i}`), { force: true })
      },
    ],
  ])('%s gets each file imported and reported once, and moved later', async (_, spoil, mend) => {
    const dir = await openSmallDisk(1, 40)
    const rig = await openRig({ dir })
    await writeFile(join(dir, 'ride.fit'), ride)
    await spoil(dir)
    const before = listAll(dir)
    for (let i = 0; i < 4; i++) await rig.folder.scan()
    expect(rig.imported).toHaveLength(1)
    expect(rig.problem()).toMatch(/^drop folder: /)
    expect(rig.warnings()).toHaveLength(1)
    expect(listAll(dir)).toEqual(before)
    await mend(dir)
    for (let i = 0; i < 3; i++) await rig.folder.scan()
    expect(filesIn(dir).filter((path) => path.endsWith('ride.fit'))).toEqual([`${done}/ride.fit`])
    expect(rig.imported).toHaveLength(1)
    expect(rig.problem()).toBeUndefined()
  })
})

it('a failed move that leaves an empty file is reported and not retried', async () => {
  const { path } = await openForTest(openTempDir('move'))
  await writeFile(join(path, 'ride.fit'), ride)
  await mkdir(join(path, 'done'))
  const broken = async () => {
    throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' })
  }
  const [folder, to] = [
    await openForTest(openFolder(path)),
    await openForTest(openFolder(join(path, 'done'))),
  ]
  const name = Buffer.from('ride.fit')
  const move = () =>
    moveByRename({ folder: { ...folder, rename: broken }, name }, { folder: { ...to, unlink: broken }, name })
  await expect(move()).rejects.toThrow(MusetteError)

  const { log } = makeTestLog()
  const now = () => new Date(Date.now() + 60_000)
  const nowMs = now().getTime()
  const seen = makeSeenFiles({ restMs: 1 })
  const [found] = (await walkFolder(path, { accounts: ['default'], isDroppable: () => true })).found
  if (!found) return expect.unreachable()
  expect(seen.decide(found, nowMs)).toEqual({ do: 'claim' })
  const deps = {
    log,
    now,
    move,
    moved: movedFiles({ log, now, move }),
    seen,
    problems: makeProblems(log, now),
  }
  await finishFile(deps, { scanSoon: () => undefined }, found, { action: 'done' })
  expect(seen.decide(found, nowMs)).toEqual({ do: 'nothing' })
  expect(seen.waitingSince(nowMs)).toMatchObject([{ code: 'move_unfinished', relativePath: 'ride.fit' }])
})

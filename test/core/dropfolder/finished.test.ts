import { appendFile, open, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeWriterReader } from '../../../src/core/dropfolder/open-writers.ts'
import { makeRide } from '../../kit/ride.ts'
import { drop, listAll, openRig, type Rig } from './rig.ts'

let rig: Rig

const ride = makeRide()
const more = makeRide({ seed: 2, start: '2026-05-03T09:00:00Z' })
const filesIn = (dir: string) => listAll(dir).filter((path) => /\.fit$/.test(path))

describe('a complete file', () => {
  it.each([
    ['r+', 'waits, and the report names the program'],
    ['r', 'is imported'],
  ])('that a program has open with flag %s %s', async (flags) => {
    rig = await openRig({ readWriter: (file) => makeWriterReader()(file) })
    await drop(rig.dir, 'ride.fit', ride)
    const file = await open(join(rig.dir, 'ride.fit'), flags)
    try {
      await rig.folder.scan()
      await rig.scanAfter(61_000)
      if (flags === 'r') return expect(rig.imported).toHaveLength(1)
      expect(rig.imported).toEqual([])
      const reason = expect.stringMatching(new RegExp(`^\\S+ \\(process ${process.pid}\\) has it open`))
      expect(rig.report()).toMatchObject([{ code: 'open_file', relativePath: 'ride.fit', reason }])
    } finally {
      await file.close()
    }
    await rig.folder.retryWaiting()
    expect(rig.imported).toMatchObject([{ name: 'ride.fit', after: 'done' }])
    expect(rig.warnings()).toEqual([])
  })
})

it('the writer of a file is found even if several files are checked at once', async () => {
  rig = await openRig({ afterUpload: 'keep' })
  const names = ['a.fit', 'b.fit']
  const files = await Promise.all(names.map((name) => open(join(rig.dir, name), 'w')))
  const stats = await Promise.all(files.map((file) => file.stat()))
  const readWriter = makeWriterReader()
  const programs = await Promise.all(
    stats.map(({ dev, ino }, i) => readWriter({ name: Buffer.from(names[i] ?? ''), dev, ino })),
  )
  for (const file of files) await file.close()
  expect(programs.map((program) => typeof program)).toEqual(['string', 'string'])
})

describe('a moved file', () => {
  it.each([
    ['done', ride],
    ['failed', Buffer.from('this is no FIT file, and long enough')],
  ])('in %s/ comes back with all its bytes if it is written to', async (place, bytes) => {
    rig = await openRig({ accounts: async () => ['default', 'anna'] })
    await rig.drop('anna/2026/ride.fit', bytes)
    const [moved = ''] = filesIn(rig.dir)
    expect(moved).toMatch(new RegExp(`^anna/${place}/`))
    await appendFile(join(rig.dir, moved), more)
    // The same scan claims the copy that comes back; that copy is watched after its move, too.
    await rig.folder.scan()
    expect(rig.imported.map(({ sizeBytes }) => sizeBytes)).toEqual([bytes.length, bytes.length + more.length])
    const [again = ''] = filesIn(rig.dir)
    expect(await readFile(join(rig.dir, again))).toEqual(Buffer.concat([bytes, more]))
    const said = rig.warnings()
    expect(said).toEqual([expect.stringMatching(/^anna\/2026\/ride\.fit was written to after its import/)])
  })

  it('stays if it is not written to within an hour, or was replaced', async () => {
    rig = await openRig()
    const month = new Date(Date.now() + rig.clock.aheadMs).toISOString().slice(0, 7)
    const done = join(rig.dir, 'done', month)
    for (const name of ['same.fit', 'late.fit', 'other.fit']) await rig.drop(name)
    await writeFile(join(rig.dir, 'secret'), 'a file of somebody else')
    await rename(join(done, 'other.fit'), join(done, 'kept.fit'))
    await symlink(join(rig.dir, 'secret'), join(done, 'other.fit'))
    await rig.folder.scan()
    await rig.scanAfter(3_600_000)
    await appendFile(join(done, 'late.fit'), more)
    await rig.folder.scan()
    expect(rig.imported).toHaveLength(3)
    expect(await readFile(join(rig.dir, 'secret'), 'utf8')).toBe('a file of somebody else')
  })

  it('comes back if it is written to just before the daemon stops', async () => {
    rig = await openRig()
    await rig.drop('ride.fit')
    const [moved = ''] = filesIn(rig.dir)
    await appendFile(join(rig.dir, moved), more)
    await rig.folder.close()
    expect(filesIn(rig.dir)).toEqual(['ride.fit'])
  })
})

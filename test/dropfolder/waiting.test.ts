import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { makeFitFile } from '../../src/sandbox/fit-file.ts'
import { eventually } from '../support/eventually.ts'
import { listAll, makeRide, openRig, type Rig } from './rig.ts'

let rig: Rig
afterEach(() => rig.close())

const ride = Buffer.from(makeFitFile({ startedAt: new Date('2026-03-11T16:00:00Z'), seconds: 120 }))
const isDone = (name: string) =>
  listAll(rig.dir).some((path) => /^done\/[^/]+\/./.test(path) && path.endsWith(name))
const loud = () => rig.log.lines.filter((line) => line.level !== 'debug' && line.level !== 'trace')

describe('a file that is being written', () => {
  it('waits without a word while it grows for hours, and is taken when it is whole', async () => {
    rig = await openRig({ polling: true })
    const file = await open(join(rig.dir, 'zwift.fit'), 'w')
    for (let place = 0; place < ride.length; place += 500) {
      await file.write(ride.subarray(place, place + 500))
      rig.clock.aheadMs += 600_000
      expect(isDone('zwift.fit')).toBe(false)
      await rig.folder.scan()
    }
    await file.close()
    expect(isDone('zwift.fit')).toBe(true)
    expect(loud()).toEqual([])
    expect(rig.taken.slice(0, -1).every((take) => take.after === 'wait')).toBe(true)
  })

  it('waits when its size is reserved first and filled afterwards, also from the end', async () => {
    rig = await openRig({ polling: true })
    const path = join(rig.dir, 'samba.fit')
    await writeFile(path, Buffer.alloc(ride.length))
    const file = await open(path, 'r+')
    const half = Math.floor(ride.length / 2)
    await rig.folder.scan()
    expect(rig.folder.waiting()).toEqual(['samba.fit'])
    await file.write(ride.subarray(half), 0, ride.length - half, half)
    await rig.folder.scan()
    expect(isDone('samba.fit')).toBe(false)
    await file.write(ride.subarray(0, half), 0, half, 0)
    await file.close()
    await rig.folder.scan()
    expect(isDone('samba.fit')).toBe(true)
    expect(loud()).toEqual([])
  })

  it('is not even read before it is at rest, and needs no event to be looked at again', async () => {
    rig = await openRig({ polling: true, restMs: 200 })
    rig.clock.aheadMs = 0
    await writeFile(join(rig.dir, 'fresh.fit'), ride)
    await rig.folder.scan()
    const early = rig.taken.length
    await eventually(() => isDone('fresh.fit'))
    expect([early, rig.taken.length]).toEqual([0, 1])
  })

  it('is taken after two looks when the clock of the disk is ahead of ours', async () => {
    rig = await openRig({ polling: true, restMs: 2_000 })
    rig.clock.aheadMs = -3_600_000
    await writeFile(join(rig.dir, 'future.fit'), ride)
    await rig.folder.scan()
    expect(rig.taken).toEqual([])
    rig.clock.aheadMs += 2_001
    await rig.folder.scan()
    expect(isDone('future.fit')).toBe(true)
  })

  it('is taken anew when it changes while it is read', async () => {
    let writes = 0
    rig = await openRig({
      polling: true,
      take: async (file, read) => {
        if (writes++ === 0) await writeFile(join(rig.dir, file.name), makeRide(2))
        await read()
        return { action: 'done' }
      },
    })
    await writeFile(join(rig.dir, 'ride.fit'), ride)
    await rig.folder.scan()
    expect(isDone('ride.fit')).toBe(false)
    await rig.folder.scan()
    expect(isDone('ride.fit')).toBe(true)
    expect(loud()).toEqual([])
  })
})

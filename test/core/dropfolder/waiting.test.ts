import { open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeFitFile } from '../../../src/sandbox/fit-file.ts'
import { eventually } from '../../kit/eventually.ts'
import { listAll, openRig, type Rig } from './rig.ts'

let rig: Rig

const ride = Buffer.from(makeFitFile({ startedAt: new Date('2026-03-11T16:00:00Z'), seconds: 120 }))
const isDone = (name: string) =>
  listAll(rig.dir).some((path) => /^done\/[^/]+\/./.test(path) && path.endsWith(name))
const loud = () => rig.log.lines.filter((line) => line.level !== 'debug' && line.level !== 'trace')

describe('a file that is being written', () => {
  it('waits silently while it grows for hours, and is imported when it is whole', async () => {
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
    expect(rig.imported.slice(0, -1).every((file) => file.after === 'wait')).toBe(true)
  })

  it('waits if its size is reserved first and filled later, even from the end', async () => {
    rig = await openRig({ polling: true })
    const path = join(rig.dir, 'samba.fit')
    await writeFile(path, Buffer.alloc(ride.length))
    const file = await open(path, 'r+')
    const half = Math.floor(ride.length / 2)
    await rig.folder.scan()
    expect(rig.imported).toMatchObject([{ name: 'samba.fit', after: 'wait' }])
    await file.write(ride.subarray(half), 0, ride.length - half, half)
    await rig.folder.scan()
    expect(isDone('samba.fit')).toBe(false)
    await file.write(ride.subarray(0, half), 0, half, 0)
    await file.close()
    await rig.folder.scan()
    expect(isDone('samba.fit')).toBe(true)
    expect(loud()).toEqual([])
  })

  it('is not read before it is at rest, and is scanned again without an event', async () => {
    rig = await openRig({ polling: true, restMs: 200 })
    rig.clock.aheadMs = 0
    await writeFile(join(rig.dir, 'fresh.fit'), ride)
    await rig.folder.scan()
    const early = rig.imported.length
    await eventually(() => isDone('fresh.fit'))
    expect([early, rig.imported.length]).toEqual([0, 1])
  })
})

describe('a file that waits for a person', () => {
  const said = () => loud().map(({ level, msg }) => [level, msg])

  it('is reported after a minute, when its reason changes, and when its wait ends', async () => {
    rig = await openRig()
    await writeFile(join(rig.dir, 'ride.fit'), ride.subarray(0, 700))
    await rig.folder.scan()
    expect(said()).toEqual([])
    for (let minute = 0; minute < 30; minute++) {
      await rig.scanAfter(60_001)
    }
    const missing = `ride.fit waits: ${ride.length - 700} bytes are missing at its end`
    expect(said()).toEqual([['warn', missing]])
    expect(rig.report()).toMatchObject([
      { relativePath: 'ride.fit', code: 'not_whole', account: 'default', sizeBytes: 700 },
    ])
    await writeFile(join(rig.dir, 'ride.fit'), ride.subarray(0, 800))
    await rig.folder.scan()
    expect(rig.report()).toEqual([])
    await writeFile(join(rig.dir, 'ride.fit'), ride)
    await rig.folder.scan()
    expect(isDone('ride.fit')).toBe(true)
    expect(said()).toEqual([
      ['warn', missing],
      ['info', 'ride.fit no longer waits'],
    ])
  })

  it('is reported once, without a stack, if it cannot be read', async () => {
    const refused = new Error("EACCES: permission denied, open 'ride.fit'")
    const importFile = () => Promise.reject(Object.assign(refused, { code: 'EACCES', syscall: 'open' }))
    rig = await openRig({ importFile })
    await writeFile(join(rig.dir, 'ride.fit'), ride)
    for (let minute = 0; minute < 60; minute++) {
      await rig.scanAfter(60_001)
    }
    expect(said()).toEqual([
      ['warn', expect.stringContaining('cannot be imported now (EACCES: permission denied')],
    ])
    expect(JSON.stringify(loud())).not.toContain('at ')
    expect(rig.report()).toMatchObject([{ code: 'unreadable_file' }])
  })

  it('shares one log line with all other waiting files, and is forgotten once gone', async () => {
    rig = await openRig()
    for (let n = 0; n < 40; n++) await writeFile(join(rig.dir, `${n}.fit`), '')
    await rig.folder.scan()
    await rig.scanAfter(60_001)
    await rig.folder.scan()
    expect(said()).toHaveLength(11)
    expect(said().at(-1)).toEqual(['warn', '30 more files wait; run: musette status'])
    expect(rig.report()).toHaveLength(40)
    for (let n = 1; n < 40; n++) await rm(join(rig.dir, `${n}.fit`))
    await rig.folder.scan()
    expect(rig.report()).toMatchObject([{ relativePath: '0.fit' }])
  })
})

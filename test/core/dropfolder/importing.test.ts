import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ImportResult } from '../../../src/core/dropfolder/claim-file.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeRide } from '../../kit/ride.ts'
import { whole } from '../../kit/sampling.ts'
import { drop, listAll, openRig, readOpen } from './rig.ts'

const MANY = whole ? 1_000 : 250
const month = new Date(Date.now() + 60_000).toISOString().slice(0, 7)

describe('a file in the drop folder', () => {
  it('is found by polling alone', async () => {
    const rig = await openRig({ polling: true, scanEveryMs: 20 })
    await drop(rig.dir, 'polled.fit', makeRide())
    await eventually(() => listAll(rig.dir).includes(`done/${month}/polled.fit`))
  })

  it('never replaces another file with the same name', async () => {
    const rig = await openRig({ importFile: async () => ({ action: 'failed', text: 'the reason' }) })
    for (const seed of [1, 2, 3]) {
      await rig.drop('ride.fit.gz', makeRide({ seed }))
    }
    const failed = join(rig.dir, 'failed')
    const names = ['ride (2).fit.gz', 'ride (3).fit.gz', 'ride.fit.gz']
    expect(listAll(failed)).toEqual(names.flatMap((name) => [name, `${name}.txt`]))
    expect(await readFile(join(failed, 'ride (2).fit.gz'))).toEqual(makeRide({ seed: 2 }))
  })

  it('stays in keep mode, and is imported again only if it changes', async () => {
    const rig = await openRig({ afterUpload: 'keep' })
    await drop(rig.dir, 'ride.fit', makeRide({ seed: 1 }))
    await rig.drop('bad.fit', Buffer.from('no FIT file, and long enough'))
    await rig.folder.scan()
    expect(rig.imported.map((file) => [file.name, file.after]).sort()).toEqual([
      ['bad.fit', 'failed'],
      ['ride.fit', 'done'],
    ])
    await rig.drop('ride.fit', makeRide({ seed: 2 }))
    expect(rig.imported).toHaveLength(3)
    expect(listAll(rig.dir)).toEqual(['bad.fit', 'ride.fit'])
  })

  it('is imported again if it is overwritten during its import; no version is lost', async () => {
    const rig = await openRig({
      importFile: async (file, open) => {
        const bytes = await readOpen(open)
        if (bytes.equals(makeRide({ seed: 1 }))) await drop(rig.dir, file.name, makeRide({ seed: 2 }))
        return { action: 'done' }
      },
    })
    await rig.drop('ride.fit', makeRide({ seed: 1 }))
    expect(await readFile(join(rig.dir, 'ride.fit'))).toEqual(makeRide({ seed: 2 }))
    await rig.folder.scan()
    expect(await readFile(join(rig.dir, `done/${month}/ride.fit`))).toEqual(makeRide({ seed: 2 }))
    expect(rig.imported).toHaveLength(2)
  })

  it('waits if its import fails, and is retried on request or after a pause', async () => {
    const answers: Array<ImportResult | undefined> = [undefined, { action: 'wait' }]
    const rig = await openRig({
      importFile: async () => {
        const answer = answers.length > 0 ? answers.shift() : ({ action: 'done' } as const)
        if (!answer) throw new Error('the database is away')
        return answer
      },
    })
    await rig.drop('ride.fit')
    await rig.folder.scan()
    expect(rig.imported).toHaveLength(1)
    await rig.folder.retryWaiting()
    expect(listAll(rig.dir)).toEqual(['ride.fit'])
    await rig.scanAfter(130_000)
    expect(rig.imported.map((file) => file.after)).toEqual([undefined, 'wait', 'done'])
  })

  it('stays if it is too large, and is reported once with a remedy', async () => {
    const rig = await openRig({ maxBytes: 100 })
    await rig.drop('huge.zip', Buffer.alloc(101))
    await rig.scanAfter(61_000)
    await rig.folder.scan()
    expect(rig.imported).toEqual([])
    expect(rig.report()).toMatchObject([
      { relativePath: 'huge.zip', code: 'too_large', reason: expect.stringContaining('smaller archives') },
    ])
    expect(rig.warnings()).toHaveLength(1)
  })
})

describe('many files', () => {
  it('are each imported once, hundreds at a time', async () => {
    const ride = makeRide()
    const rig = await openRig({ restMs: 20, concurrency: 8 })
    await Promise.all(Array.from({ length: MANY }, (_, i) => drop(rig.dir, `ride-${i}.fit`, ride)))
    await eventually(() => rig.imported.length === MANY)
    const done = new RegExp(`^done/${month}/.*\\.fit$`)
    await eventually(() => listAll(rig.dir).filter((path) => done.test(path)).length === MANY)
    expect(new Set(rig.imported.map((file) => file.name)).size).toBe(MANY)
    expect(rig.imported).toHaveLength(MANY)
  })
})

describe('stopping', () => {
  it('aborts running imports, starts no new ones, and leaves the files', async () => {
    const rig = await openRig({
      concurrency: 1,
      importFile: (_, __, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        }),
    })
    await writeFile(join(rig.dir, 'one.fit'), makeRide())
    await writeFile(join(rig.dir, 'two.fit'), makeRide())
    const scan = rig.folder.scan()
    await eventually(() => rig.imported.length === 1)
    await rig.folder.close()
    await scan
    expect(rig.imported).toHaveLength(1)
    expect(listAll(rig.dir)).toEqual(['one.fit', 'two.fit'])
    expect(rig.warnings()).toEqual([])
  })
})

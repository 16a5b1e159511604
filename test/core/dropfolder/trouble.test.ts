import { execFileSync } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { claimFolder, OWNER_FILE } from '../../../src/kit/folders/folder-owner.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeIdentity } from '../../kit/identity.ts'
import { makeRide } from '../../kit/ride.ts'
import { drop, listAll, openRig, type Rig } from './rig.ts'

const ride = makeRide()
let rig: Rig

describe('the drop folder', () => {
  it('is reported once if it vanishes, not recreated, and found when it is back', async () => {
    rig = await openRig({ restMs: 20 })
    await rig.drop('one.fit')
    await rm(rig.dir, { recursive: true })
    await rig.folder.scan()
    await rig.folder.scan()
    expect(rig.problem()).toContain(rig.dir)
    expect(rig.warnings()).toHaveLength(1)
    await mkdir(rig.dir)
    await rig.folder.scan()
    expect(rig.problem()).toBeUndefined()
    await drop(rig.dir, 'two.fit', makeRide({ seed: 2 }))
    await eventually(() => rig.imported.some((file) => file.name === 'two.fit'))
  })

  it('is watched again after it was recreated between two scans', async () => {
    rig = await openRig({ restMs: 20 })
    await rig.folder.scan()
    await rm(rig.dir, { recursive: true })
    await mkdir(rig.dir)
    await rig.folder.scan()
    for (const [i, name] of ['one.fit', 'two.fit', 'three.fit'].entries()) {
      await drop(rig.dir, name, ride)
      await eventually(() => rig.imported.length === i + 1 && !listAll(rig.dir).includes(name))
    }
  })

  it('keeps files that cannot be moved: imported once, reported once, moved later', async () => {
    rig = await openRig()
    await writeFile(join(rig.dir, 'done'), 'a file in the way')
    await rig.drop('ride.fit')
    await rig.folder.scan()
    expect(rig.imported).toHaveLength(1)
    const [, run = ''] = rig.problem()?.split('; run: ') ?? []
    expect(run).toBe(`mv ${join(rig.dir, 'done')} ${join(rig.dir, 'done.old')}`)
    expect(rig.warnings()).toHaveLength(1)
    execFileSync('sh', ['-c', run])
    await rig.folder.scan()
    expect(listAll(rig.dir)).toContainEqual(expect.stringMatching(/^done\/.*ride\.fit$/))
    expect(rig.imported).toHaveLength(1)
    await rig.folder.scan()
    expect(rig.problem()).toBeUndefined()
  })

  it('imports nothing and reports the error if the accounts cannot be read', async () => {
    let down = true
    rig = await openRig({
      accounts: async () => {
        if (down) throw new Error('connection refused')
        return ['default']
      },
    })
    await rig.drop('ride.fit')
    expect(rig.problem()).toContain('connection refused')
    down = false
    await rig.folder.scan()
    expect(rig.imported).toHaveLength(1)
    expect(rig.problem()).toBeUndefined()
  })

  it('of another database is left alone until a person hands it over', async () => {
    const whose = makeIdentity()
    rig = await openRig({
      before: async (dir) => {
        await mkdir(dir, { recursive: true })
        await claimFolder(dir, whose)
      },
    })
    await drop(rig.dir, 'ride.fit', ride)
    const before = listAll(rig.dir)
    await rig.folder.scan()
    await rig.folder.scan()
    expect(rig.imported).toEqual([])
    expect(listAll(rig.dir)).toEqual(before)
    const run = `rm ${join(rig.dir, OWNER_FILE)}`
    const reason = expect.stringMatching(new RegExp(`${whose.identity}.*run: ${run}$`))
    expect(rig.report()).toMatchObject([{ code: 'other_database', reason }])
    expect(rig.warnings()).toHaveLength(1)
    await rm(join(rig.dir, OWNER_FILE))
    await rig.folder.scan()
    expect(rig.imported).toHaveLength(1)
    expect(rig.report()).toEqual([])
  })

  it.each([
    ['is left to that process until it exits', undefined, 0],
    ['is also used by this one if the system has no locks', '/nowhere', 1],
  ])('that another process of any database watches %s', async (_what, path, sharedBy) => {
    if (path !== undefined) vi.stubEnv('PATH', path)
    onTestFinished(() => void vi.unstubAllEnvs())
    rig = await openRig({ afterUpload: 'keep' })
    const copy = await openRig({ afterUpload: 'keep', dir: rig.dir })
    await rig.drop('ride.fit')
    await copy.folder.scan()
    expect([rig.imported, copy.imported].map(({ length }) => length)).toEqual([1, sharedBy])
    await rig.folder.close()
    await copy.folder.scan()
    expect(copy.imported).toHaveLength(1)
  })
})

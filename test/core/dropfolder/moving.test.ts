import { lstat, mkdir, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { moveDone, moveFailed } from '../../../src/core/dropfolder/move-file.ts'
import { makeMover, moveByRename } from '../../../src/core/dropfolder/move-to-folder.ts'
import { identityOf } from '../../../src/core/dropfolder/walk-folder.ts'
import { openFolder } from '../../../src/kit/folders/folder.ts'
import { closeAfter } from '../../../src/kit/release-stack.ts'
import { whole } from '../../kit/sampling.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'
import { listAll } from './rig.ts'

const at = new Date('2026-03-31T23:30:00Z')
/** Rounds of each race. */
const ROUNDS = whole ? 150 : 60
const move = makeMover()
let temp: TempDir
let home: string
beforeEach(async () => {
  temp = await openTempDir('move')
  home = temp.path
})
afterEach(() => temp.close())

async function found(name: string) {
  const steps = name.split('/').map((step) => Buffer.from(step))
  return {
    root: home,
    home: [],
    folder: steps.slice(0, -1),
    rawName: steps.at(-1) as Buffer,
    identity: identityOf(await lstat(join(home, name))),
  }
}
const write = (name: string, text: string) => writeFile(join(home, name), text)
const read = (name: string) => readFile(join(home, name), 'utf8')

describe('moving a file', () => {
  it('leaves a file that was replaced since it was found', async () => {
    await write('ride.fit', 'ride')
    const before = await found('ride.fit')
    await write('new', 'newer')
    await rename(join(home, 'new'), join(home, 'ride.fit'))
    expect(await moveDone({ move, at }, before)).toEqual({ outcome: 'changed' })
    expect(listAll(home)).toEqual(['ride.fit'])
  })

  it('leaves one file if two processes move it while its mtime changes', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = `ride-${round}.fit`
      await write(name, 'ride')
      const file = await found(name)
      await Promise.all([
        moveDone({ move, at }, file),
        moveDone({ move, at }, file),
        utimes(join(home, name), round, round).catch(() => undefined),
        moveDone({ move, at }, file),
      ])
      const left = listAll(home).filter((path) => path.endsWith(name))
      expect(left).toHaveLength(1)
      expect(left[0]?.includes('.moving-')).toBe(false)
    }
  })

  it('moves nothing out of the drop folder if a link replaced an account folder', async () => {
    const outside = join(home, 'outside')
    await mkdir(join(home, 'rider'))
    await write('rider/ride.fit', 'ride')
    const own = { ...(await found('rider/ride.fit')), home: [Buffer.from('rider')] }
    await rename(join(home, 'rider'), outside)
    await symlink(outside, join(home, 'rider'))
    await expect(moveDone({ move, at }, own)).rejects.toMatchObject({ code: 'not_a_folder' })
    await expect(moveFailed({ move, at }, own, 'why')).rejects.toMatchObject({ code: 'not_a_folder' })
    expect(listAll(outside)).toEqual(['ride.fit'])
  })

  it('moves nothing out of the drop folder while a link replaces failed/', async () => {
    const outside = join(home, 'outside')
    await mkdir(outside)
    const failed = join(home, 'failed')
    // Each swap comes some event loop turns later than the last, so that every step of a move meets a swap.
    const swap = async (turns: number) => {
      for (let turn = 0; turn < turns; turn++) await nextTurn()
      await rename(failed, `${failed}-aside`)
      await symlink(outside, failed)
    }
    for (let i = 0; i < 2 * ROUNDS; i++) {
      await rm(failed, { recursive: true, force: true })
      await rm(`${failed}-aside`, { recursive: true, force: true })
      await mkdir(failed)
      await write(`ride-${i}.fit`, `ride ${i}`)
      const moving = moveFailed({ move, at }, await found(`ride-${i}.fit`), 'why')
      await Promise.allSettled([moving, swap(i % 50)])
    }
    expect(listAll(outside)).toEqual([])
  })

  it.each([
    ['with links', makeMover()],
    ['by rename', moveByRename],
  ])('keeps every file if many move to one name at once, %s', async (_, place) => {
    await mkdir(join(home, 'target'))
    const name = Buffer.from('ride.fit')
    const move = async (from: string) =>
      closeAfter(await openFolder(join(home, from)), async (folder) =>
        closeAfter(await openFolder(join(home, 'target')), (to) =>
          place({ folder, name }, { folder: to, name }),
        ),
      )
    await mkdir(join(home, 'nothing'))
    expect(await move('nothing')).toBeUndefined()
    expect(listAll(join(home, 'target'))).toEqual([])
    const texts = Array.from({ length: 30 }, (_, i) => `text ${i}`)
    for (const [i, text] of texts.entries()) {
      await mkdir(join(home, `from-${i}`))
      await write(`from-${i}/ride.fit`, text)
    }
    await Promise.all(texts.map((_, i) => move(`from-${i}`)))
    const kept = await Promise.all(listAll(join(home, 'target')).map((name) => read(`target/${name}`)))
    expect(kept.sort()).toEqual(texts.sort())
  })

  it('never removes a new file that takes the old name during the move', async () => {
    await mkdir(join(home, 'target'))
    const [folder, to] = [await openFolder(home), await openFolder(join(home, 'target'))]
    const name = Buffer.from('ride.fit')
    for (let i = 0; i < ROUNDS; i++) {
      await write('ride.fit', `old ${i}`)
      await write('new', `new ${i}`)
      await Promise.all([
        move({ folder, name }, { folder: to, name }),
        rename(join(home, 'new'), join(home, 'ride.fit')),
      ])
      const left = listAll(home).filter((name) => name.endsWith('.fit'))
      const texts = await Promise.all(left.map(read))
      expect(texts).toContain(`new ${i}`)
    }
    await folder.close()
    await to.close()
  })
})

import { randomUUID } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { acquireLock, isLocked } from '../../src/embedded/lock.ts'
import { openForEach } from '../kit/open-for.ts'
import { openTempDir } from '../kit/temp-dir.ts'

const folder = openForEach(() => openTempDir('lock'))

/** Writes the lock of a dead holder whose number another process has by now. */
async function writeDeadHolder(name: string): Promise<string> {
  const token = randomUUID()
  const holder = { pid: process.pid, startedAt: 'another time', token }
  await writeFile(join(folder.path, name), JSON.stringify(holder))
  return token
}

it.each([
  ['a free lock', false],
  ['the lock of a dead holder', true],
])(
  'gives %s to one of many that acquire it at once, and to the next after its release',
  async (_what, isDead) => {
    for (let round = 0; round < 5; round++) {
      if (isDead) await writeDeadHolder('postgres.owner')
      const asked = await Promise.all(Array.from({ length: 20 }, () => acquireLock(folder.path)))
      const given = asked.filter((one) => one !== undefined)
      expect(given).toHaveLength(1)
      expect(await isLocked(folder.path)).toBe(true)
      await given[0]?.release()
      expect(await isLocked(folder.path)).toBe(false)
      expect(await readdir(folder.path)).toEqual([])
    }
  },
)

it('follows holders that died one after another while taking over, and removes their files', async () => {
  const first = await writeDeadHolder('postgres.owner')
  const second = await writeDeadHolder(`postgres.owner.${first}`)
  await writeDeadHolder(`postgres.owner.${second}`)
  expect(await isLocked(folder.path)).toBe(false)
  const lock = await acquireLock(folder.path)
  expect(await readdir(folder.path)).toEqual(['postgres.owner'])
  expect(await acquireLock(folder.path)).toBeUndefined()
  await lock?.release()
})

import { randomUUID } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { acquireOwnership, isOwned } from '../../src/embedded/ownership.ts'
import { isProcessAlive, readProcessIdentity } from '../../src/embedded/processes.ts'
import { openTempDir, type TempDir } from '../kit/temp-dir.ts'

let folder: TempDir
beforeEach(async () => {
  folder = await openTempDir('ownership')
})
afterEach(async () => {
  await folder.close()
})

/** A holder whose number lives, but as another process: what a crash followed by a reused number leaves. */
async function writeDeadHolder(name: string): Promise<string> {
  const token = randomUUID()
  const holder = { pid: process.pid, startedAt: 'another time', token }
  await writeFile(join(folder.path, name), JSON.stringify(holder))
  return token
}

it('gives the right to one of many that ask at once, and to the next when it is given back', async () => {
  for (let round = 0; round < 5; round++) {
    const asked = await Promise.all(Array.from({ length: 20 }, () => acquireOwnership(folder.path)))
    const given = asked.filter((one) => one !== undefined)
    expect(given).toHaveLength(1)
    expect(await isOwned(folder.path)).toBe(true)
    await given[0]?.release()
    expect(await isOwned(folder.path)).toBe(false)
  }
  expect(await readdir(folder.path)).toEqual([])
})

it('gives the right of a dead holder to one of many that ask at once', async () => {
  for (let round = 0; round < 5; round++) {
    await writeDeadHolder('postgres.owner')
    const asked = await Promise.all(Array.from({ length: 20 }, () => acquireOwnership(folder.path)))
    const given = asked.filter((one) => one !== undefined)
    expect(given).toHaveLength(1)
    await given[0]?.release()
    expect(await readdir(folder.path)).toEqual([])
  }
})

it('follows holders that died one after another while taking over, and clears up behind them', async () => {
  const first = await writeDeadHolder('postgres.owner')
  const second = await writeDeadHolder(`postgres.owner.${first}`)
  await writeDeadHolder(`postgres.owner.${second}`)
  expect(await isOwned(folder.path)).toBe(false)
  const ownership = await acquireOwnership(folder.path)
  expect(await readdir(folder.path)).toEqual(['postgres.owner'])
  expect(await acquireOwnership(folder.path)).toBeUndefined()
  await ownership?.release()
})

it('tells a process from a later one with the same number', async () => {
  const self = await readProcessIdentity(process.pid)
  expect(await isProcessAlive(self)).toBe(true)
  expect(await isProcessAlive({ ...self, startedAt: 'another time' })).toBe(false)
  expect(await isProcessAlive({ pid: 2 ** 30, startedAt: self.startedAt })).toBe(false)
})

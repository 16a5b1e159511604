import { mkdir, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readFolderId } from '../../src/daemon/leader.ts'
import { openTempDir, type TempDir } from '../kit/temp-dir.ts'

describe('what a folder is known by', () => {
  let dir: TempDir
  beforeEach(async () => {
    dir = await openTempDir('folder-id')
  })
  afterEach(() => dir.close())

  it('is the same by every way to it and after a new name, and another for every other folder', async () => {
    const [one, two, link, moved] = ['one', 'two', 'link', 'moved'].map((name) => join(dir.path, name))
    if (!one || !two || !link || !moved) throw new Error('four names')
    const missing = await readFolderId(one)
    await mkdir(one)
    await mkdir(two)
    await symlink(one, link)
    const id = await readFolderId(one)
    expect(await readFolderId(link)).toBe(id)
    expect(await readFolderId(two)).not.toBe(id)
    expect(missing).not.toBe(id)
    await rename(one, moved)
    expect(await readFolderId(moved)).toBe(id)
  })
})

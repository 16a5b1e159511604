import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { claimFolder, OWNER_FILE, readForeign } from '../../src/kit/folders/folder-owner.ts'
import { IDENTITY, makeIdentity } from './identity.ts'
import { openForEach } from './open-for.ts'
import { openTempDir } from './temp-dir.ts'

describe('owner of a folder', () => {
  const folder = openForEach(() => openTempDir('owner'))
  let dir: string
  beforeEach(() => {
    dir = folder.path
  })

  const mark = () => readFile(join(dir, OWNER_FILE), 'utf8')

  it('a folder stays with the first database to claim it; a second one names the file to remove', async () => {
    expect(await claimFolder(dir, IDENTITY)).toBeUndefined()
    const claimed = await mark()
    expect(claimed).toContain(IDENTITY.identity)
    const run = `rm ${join(dir, OWNER_FILE)}`
    const other = makeIdentity()
    expect(await claimFolder(dir, other)).toEqual({ found: expect.stringContaining('another database'), run })
    expect(await readForeign(dir, other)).toMatchObject({ run })
    expect(await mark()).toBe(claimed)
    expect(await claimFolder(dir, IDENTITY)).toBeUndefined()
    expect(await mark()).toBe(claimed)
    await rm(join(dir, OWNER_FILE))
    expect(await claimFolder(dir, other)).toBeUndefined()
    expect(await claimFolder(dir, IDENTITY)).toMatchObject({ run })
  })

  it('a folder belongs to only one of several databases that claim it at the same time', async () => {
    const databases = Array.from({ length: 20 }, () => makeIdentity())
    const answers = await Promise.all(databases.map((database) => claimFolder(dir, database)))
    expect(answers.filter((answer) => answer === undefined)).toHaveLength(1)
    expect(await readdir(dir)).toEqual([OWNER_FILE])
  })

  it('a folder passes to a database restored from a backup, and the old one is refused', async () => {
    await claimFolder(dir, IDENTITY)
    const [restored, other] = [makeIdentity(IDENTITY), makeIdentity(IDENTITY)]
    expect(await claimFolder(dir, restored)).toBeUndefined()
    for (const database of [IDENTITY, other])
      expect(await claimFolder(dir, database)).toMatchObject({
        found: expect.stringContaining('another database with the same identity'),
      })
    expect(await claimFolder(dir, makeIdentity(restored))).toBeUndefined()
    expect(await claimFolder(dir, restored)).toBeDefined()
  })

  it.each(['', 'null'])('a folder is not used if its owner file names no owner: %j', async (text) => {
    await writeFile(join(dir, OWNER_FILE), text)
    expect(await claimFolder(dir, IDENTITY)).toMatchObject({ run: expect.stringContaining(OWNER_FILE) })
    expect(await mark()).toBe(text)
  })

  it.skipIf(process.platform !== 'linux')(
    'a folder is used without an owner file if none can be written',
    async () => {
      // Nobody can create a file there, not even root.
      expect(await claimFolder('/sys', IDENTITY)).toBeUndefined()
    },
  )
})

import { randomUUID } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { orMissing } from '../kit/files.ts'
import { openFolder } from '../kit/folders/folder.ts'
import { parseIfJson } from '../kit/json.ts'
import { closeAfter } from '../kit/release-stack.ts'

/** The file of a data directory that holds its own inode and time of birth, which a copy of it does not have. */
const FILE = 'postgres.origin'

/** Where a file system tells no time of birth, it is 0. */
type Origin = { inode: string; born: string }

/**
 * Calls `onCopy` when `dataDir` is a copy of another data directory, and records that it is now one of its own. In a copy the file has
 * both another inode and another time of birth than it says. One of them alone proves nothing: some file systems give out inodes anew at
 * each mount, and some know no time of birth. The number of the device changes when a machine or a container starts again.
 */
export async function followCopy(dataDir: string, onCopy: () => Promise<void>): Promise<void> {
  await closeAfter(await openFolder(dataDir), async (folder) => {
    const file = await folder.open(FILE).catch(orMissing)
    const found = file && (await closeAfter(file, readRecorded))
    if (found?.recorded && !isOther(found.recorded, found.own)) return
    if (found?.recorded) await onCopy()
    const scratch = `${FILE}.${randomUUID()}`
    try {
      await closeAfter(await folder.create(scratch, 0o600), async (made) => {
        await made.writeFile(JSON.stringify(await readOrigin(made)))
        await made.sync()
      })
      await folder.rename(scratch, folder, FILE)
      await folder.sync()
    } catch (error) {
      await folder.unlink(scratch).catch(() => undefined)
      throw error
    }
  })
}

async function readRecorded(file: FileHandle) {
  const { inode, born } = Object(parseIfJson(await file.readFile('utf8')))
  const recorded = typeof inode === 'string' && typeof born === 'string' ? { inode, born } : undefined
  return { recorded, own: await readOrigin(file) }
}

function isOther(recorded: Origin, own: Origin): boolean {
  const isKnown = recorded.born !== '0' && own.born !== '0'
  return isKnown && recorded.inode !== own.inode && recorded.born !== own.born
}

async function readOrigin(file: FileHandle): Promise<Origin> {
  const { ino, birthtimeNs } = await file.stat({ bigint: true })
  return { inode: String(ino), born: String(birthtimeNs) }
}

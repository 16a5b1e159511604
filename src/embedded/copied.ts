import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { orMissing } from '../kit/files.ts'
import { openFolder } from '../kit/folders/folder.ts'
import { parseIfJson } from '../kit/json.ts'
import { closeAfter } from '../kit/release-stack.ts'

/** The file in a data directory that contains its own inode and creation time. A copy of the file has another inode and creation time. */
const FILE = 'postgres.origin'

/** The creation time is 0 if the file system does not report one. */
type Origin = { inode: string; born: string }

/**
 * Calls `onCopy` if `dataDir` is a copy of another data directory, and records that it is now its own. In a copy, the file's inode and
 * creation time both differ from the recorded values. A single difference proves nothing, because some file systems assign new inodes at each
 * mount, and some report no creation time. The device number changes when a machine or a container restarts.
 */
export async function followCopy(dataDir: string, onCopy: () => Promise<void>): Promise<void> {
  const file = await closeAfter(await openFolder(dataDir), async (folder) => {
    const found = await folder.open(FILE, constants.O_RDWR).catch(orMissing)
    return found ?? folder.create(FILE, 0o600, constants.O_RDWR)
  })
  await closeAfter(file, async () => {
    const own = await readOrigin(file)
    const { inode, born } = Object(parseIfJson(await file.readFile('utf8')))
    const isRecorded = typeof inode === 'string' && typeof born === 'string'
    if (isRecorded && !isOther({ inode, born }, own)) return
    if (isRecorded) await onCopy()
    await file.truncate()
    await file.write(JSON.stringify(own), 0)
    await file.sync()
  })
}

function isOther(recorded: Origin, own: Origin): boolean {
  const isKnown = recorded.born !== '0' && own.born !== '0'
  return isKnown && recorded.inode !== own.inode && recorded.born !== own.born
}

async function readOrigin(file: FileHandle): Promise<Origin> {
  const { ino, birthtimeNs } = await file.stat({ bigint: true })
  return { inode: String(ino), born: String(birthtimeNs) }
}

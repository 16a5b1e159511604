import { randomUUID } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes a file of mode 0600 so that it is on the disk, under its name and whole, when this resolves. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const scratch = `${path}.${randomUUID()}`
  try {
    const file = await open(scratch, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await renameDurably(scratch, path)
  } catch (error) {
    await rm(scratch, { force: true })
    throw error
  }
}

/** Renames a file within its folder so that a power cut does not undo it. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to)
  await syncDirectory(dirname(to))
}

// Windows cannot open a folder to sync it, and does not need to.
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(directory, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

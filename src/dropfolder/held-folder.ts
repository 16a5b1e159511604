import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, stat } from 'node:fs/promises'
import { ConfigError, errorCode } from '../kit/errors.ts'
import { joinPath } from './walk.ts'

/** A folder that stays the same one while it is held: `via` reaches it, `path` names it for people. */
export type HeldFolder = { path: Buffer; via: Buffer; sync(): Promise<void>; close(): Promise<void> }

const FOLDER_FLAGS = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0)
const NO_LINK = constants.O_NOFOLLOW ?? 0

/**
 * Opens the folders `names` below `home`, makes those that are missing, and holds the last one. On Linux files are then
 * placed through the open folder, so a link that takes its name meanwhile leads nothing out of the drop folder; elsewhere
 * the name is checked. Throws ConfigError `drop_folder_link` when one of them is a link or a file, and Node's errors.
 */
export async function holdFolder(home: Buffer, names: readonly string[]): Promise<HeldFolder> {
  let held = await hold(home, home, 0)
  for (const name of names) {
    const outer = held
    try {
      held = await holdInner(outer, name)
    } finally {
      await outer.close()
    }
  }
  return held
}

async function holdInner(outer: HeldFolder, name: string): Promise<HeldFolder> {
  const path = joinPath(outer.path, name)
  const via = joinPath(outer.via, name)
  try {
    return await hold(path, via, NO_LINK)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOTDIR' || code === 'ELOOP') throw isLink(path)
    if (code !== 'ENOENT') throw error
  }
  await mkdir(via).catch((error: unknown) => {
    // Another daemon on the same folder was faster.
    if (errorCode(error) !== 'EEXIST') throw error
  })
  return hold(path, via, NO_LINK)
}

async function hold(path: Buffer, via: Buffer, noLink: number): Promise<HeldFolder> {
  const handle = await open(via, FOLDER_FLAGS | noLink).catch((error: unknown) => {
    // A folder may be open for writing and not for reading, and some systems open no folder at all.
    if (['EACCES', 'EPERM', 'EISDIR'].includes(errorCode(error))) return undefined
    throw error
  })
  if (!handle) {
    const stats = noLink === 0 ? await stat(via) : await lstat(via)
    if (!stats.isDirectory()) throw isLink(path)
    return { path, via, sync: async () => undefined, close: async () => undefined }
  }
  return {
    path,
    via: (await reachOpen(handle)) ?? via,
    // Where a folder cannot be synced the rename is durable, or nothing can be done.
    sync: () => handle.sync().catch(() => undefined),
    close: () => handle.close(),
  }
}

/** The path that leads into an open folder, whatever its name has become; undefined where the system has none. */
async function reachOpen(handle: FileHandle): Promise<Buffer | undefined> {
  const via = `/proc/self/fd/${handle.fd}`
  const [own, reached] = await Promise.all([handle.stat(), stat(via).catch(() => undefined)])
  return reached?.ino === own.ino && reached.dev === own.dev ? Buffer.from(via) : undefined
}

function isLink(path: Buffer): ConfigError {
  return new ConfigError(
    'drop_folder_link',
    `drop folder: ${path.toString()} is a link or a file; remove it, so that a folder can be made there`,
  )
}

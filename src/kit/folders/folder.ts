import { randomBytes, randomUUID } from 'node:crypto'
import { constants, type Dirent, lstat as lstatWithCallback, type Stats } from 'node:fs'
import {
  access,
  type FileHandle,
  link,
  mkdir,
  open,
  readdir,
  rename,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises'
import { dirname, sep } from 'node:path'
import { promisify } from 'node:util'
import { ConfigError, errorCode } from '../errors.ts'
import { orMissing } from '../files.ts'
import { closeAfter } from '../release-stack.ts'
import { quoteShell } from '../text.ts'
import { type LockAttempt, lockDescriptor } from './kernel-lock.ts'

/** Name of a folder's entry, without a slash. The name is a Buffer if it may not be UTF-8, because old devices write other encodings. */
export type Name = Buffer | string

/**
 * An open folder. Its functions reach only this folder's entries, even if the folder is renamed or replaced by a link meanwhile, and throw
 * Node's errors. No function follows a link.
 */
export type Folder = Readonly<{
  /** the folder's path when it was opened; for people, not for the file system */
  path: string
  stats(): Promise<Stats>
  list(): Promise<Dirent<Buffer>[]>
  lstat(name: Name): Promise<Stats>
  /** Stats many entries; undefined for each entry that is gone or cannot be read. */
  lstatAll(names: readonly Name[]): Promise<Array<Stats | undefined>>
  /** Opens an existing plain file, and never waits for a pipe. Throws ConfigError `not_a_plain_file`. */
  open(name: Name, flags?: number): Promise<FileHandle>
  read(name: Name): Promise<Buffer>
  /** Creates a file with exactly this mode, regardless of the umask. Throws EEXIST. */
  create(name: Name, mode: number, flags?: number): Promise<FileHandle>
  /** Opens a folder inside this folder. Throws ConfigError `not_a_folder` for a link or a file. */
  openInner(name: Name): Promise<Folder>
  /** Opens a folder like openInner, or creates a missing one with exactly this mode (default: the mode of this folder). */
  makeInner(name: Name, mode?: number): Promise<Folder>
  /** Renames an entry, within this folder or into another; replaces an existing file with the new name. */
  rename(name: Name, to: Folder, newName: Name): Promise<void>
  /** Hard-links a file under a second name. Throws EEXIST. */
  link(name: Name, to: Folder, newName: Name): Promise<void>
  unlink(name: Name): Promise<void>
  rmdir(name: Name): Promise<void>
  /**
   * Writes a file atomically: under a hidden temporary name (see SCRATCH), flushed to the disk, then renamed. Without `replace`, does not
   * overwrite an existing file either, if the file system has hard links. Throws EEXIST.
   */
  write(name: Name, content: string | Uint8Array, how: { mode: number; replace: boolean }): Promise<void>
  /** Creates a file of mode 0600 under a temporary name (see UNFINISHED); commit() renames it once it is flushed to the disk. */
  createDurable(name: string): Promise<DurableFile>
  chmod(mode: number): Promise<void>
  /** Tries once to lock the folder against other processes until it is closed; see lockDescriptor. */
  lock(): Promise<LockAttempt>
  /** Throws Node's errors if this user may not write into the folder. */
  assertWritable(): Promise<void>
  /** Flushes the entries to the disk. Does nothing if the system cannot flush a folder. */
  sync(): Promise<void>
  /** Resolves when all calls in progress have ended and the folder is closed. */
  close(): Promise<void>
  /** Runs `work` with a path to an entry; the path stays valid while `work` runs. For this module only. */
  use<T>(name: Name, work: (path: Buffer) => Promise<T>): Promise<T>
}>

export type DurableFile = {
  /** Appends bytes. Await each call before the next. */
  write(bytes: Uint8Array): Promise<void>
  /** Flushes the content to the disk and renames the file to its final name; replaces an older file. */
  commit(): Promise<void>
  /** Removes the new file; an older file with the final name stays. */
  abandon(): Promise<void>
}

/** Names of files that are unfinished, or that a killed process left: the final name, then a random id. */
export const UNFINISHED = /\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.part$/
/** Names of small unfinished files. */
export const SCRATCH = /^\.musette-[0-9a-f]{12}\.tmp$/
/** Returns a unique name that matches SCRATCH. */
export const makeScratchName = () => `.musette-${randomBytes(6).toString('hex')}.tmp`

/** A scan calls lstat for each file, and the lstat in `fs/promises` takes a third longer. */
const lstat = promisify(lstatWithCallback)

/** Where Linux lists the open files of this process; a path through an entry leads to the open folder itself. */
const HANDLES = '/proc/self/fd'
const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL } = constants
const NO_LINK = constants.O_NOFOLLOW ?? 0
const AS_FOLDER = (constants.O_DIRECTORY ?? 0) | (constants.O_NONBLOCK ?? 0)
/** Flags that make open() neither follow a link nor wait for the other end of a pipe; 0 if the system lacks them. */
const AS_FILE = NO_LINK | (constants.O_NONBLOCK ?? 0)
/** With this flag Linux opens a folder that may be entered but not read; Node has no name for it. */
const O_PATH = process.platform === 'linux' ? 0o10000000 : undefined
/** Error codes of file systems without hard links, and of systems that forbid links to another user's files. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EINVAL', 'EACCES']
/** Error codes of file systems without modes, and of file systems that cannot flush a folder. */
const UNSUPPORTED = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL', 'EBADF']

type Place = { path: string; via: Buffer; noLink: number; handles: string }

/**
 * Opens a folder by its path, which may contain links: whoever configures the path sets them. With `mode`, creates the folder and its missing
 * parents with exactly that mode. Throws Node's errors. `handles` is for tests.
 */
export async function openFolder(
  path: string,
  { mode, handles = HANDLES }: { mode?: number; handles?: string } = {},
): Promise<Folder> {
  try {
    return await openAt({ path, via: Buffer.from(path), noLink: 0, handles })
  } catch (error) {
    const above = dirname(path)
    if (mode === undefined || errorCode(error) !== 'ENOENT' || above === path) throw error
    const name = path.slice(above.length).replaceAll(sep, '')
    return closeAfter(await openFolder(above, { mode, handles }), (outer) => outer.makeInner(name, mode))
  }
}

/** Opens the folder at a path, then the nested folders `names`; keeps only the last one open. Throws like openInner or makeInner. */
export async function openBelow(
  path: string,
  names: readonly Name[],
  step: 'openInner' | 'makeInner' = 'openInner',
  mode?: number,
): Promise<Folder> {
  let folder = await openFolder(path)
  for (const name of names) folder = await closeAfter(folder, (outer) => outer[step](name, mode))
  return folder
}

async function openAt(place: Place): Promise<Folder> {
  const { via, noLink, handles } = place
  let handle: FileHandle | undefined
  try {
    handle = await openHandle(via, AS_FOLDER | noLink)
    const stats = await (handle ? handle.stat() : noLink ? lstat(via) : stat(via))
    if (!stats.isDirectory()) throw systemError('ENOTDIR', `${place.path} is not a folder`)
    const held = handle && (await pathOfHandle(handle, stats, place))
    // The path through the outer folder becomes invalid when the outer folder is closed.
    if (!held && via.toString('latin1').startsWith(`${handles}/`))
      throw systemError('ESTALE', `${place.path} cannot be held open`)
    return makeFolder(place, { handle, stats, held })
  } catch (error) {
    await handle?.close()
    if (!['ENOTDIR', 'ELOOP'].includes(errorCode(error))) throw error
    throw (noLink && (await readObstacle(place))) || error
  }
}

/** Opens a folder; returns undefined if the system cannot open folders. */
async function openHandle(via: Buffer, flags: number): Promise<FileHandle | undefined> {
  try {
    return await open(via, O_RDONLY | flags)
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EISDIR'].includes(errorCode(error))) throw error
    return O_PATH === undefined ? undefined : open(via, O_PATH | flags)
  }
}

/** Returns a path to an open folder that survives a rename of the folder; undefined if the system has none. */
async function pathOfHandle(handle: FileHandle, own: Stats, { handles }: Place): Promise<Buffer | undefined> {
  const via = `${handles}/${handle.fd}`
  const reached = await stat(via).catch(() => undefined)
  return reached && isSame(reached, own) ? Buffer.from(via) : undefined
}

/** Returns an error that describes the entry in a folder's place; undefined if nothing does. */
async function readObstacle({ path, via }: Place): Promise<ConfigError | undefined> {
  const stats = await lstat(via).catch(() => undefined)
  if (!stats || stats.isDirectory()) return undefined
  const word = quoteShell(path)
  const message = stats.isSymbolicLink()
    ? `${path} is a link, and musette reads and writes nothing through it; run: rm ${word}`
    : `${path} is not a folder; run: mv ${word} ${quoteShell(`${path}.old`)}`
  return new ConfigError('not_a_folder', message)
}

function makeFolder(
  { path, via: pathNow, noLink, handles }: Place,
  { handle, stats: own, held }: { handle: FileHandle | undefined; stats: Stats; held: Buffer | undefined },
): Folder {
  const via = held ?? pathNow
  const before = Buffer.concat([via, SLASH])
  const isHeld = held !== undefined
  let begun = 0
  let isClosed = false
  let onEnd = () => undefined as unknown

  async function run<T>(work: () => Promise<T>): Promise<T> {
    // The descriptor number of a closed handle may soon belong to another file.
    if (isClosed) throw new Error(`${path} is closed`)
    begun += 1
    try {
      if (!isHeld) await checkSame()
      return await work()
    } finally {
      begun -= 1
      if (begun === 0) onEnd()
    }
  }

  /** Without handles the path may lead elsewhere by now. A replacement between this check and the work goes unnoticed. */
  async function checkSame(): Promise<void> {
    const now = await (noLink ? lstat(via) : stat(via))
    if (!isSame(now, own)) throw systemError('ESTALE', `${path} was replaced by another folder`)
  }

  const use: Folder['use'] = (name, work) => run(() => work(joinName(before, name)))

  const folder: Folder = {
    path,
    use,
    stats: () => run(() => (handle ? handle.stat() : stat(via))),
    list: () => run(() => readdir(via, { withFileTypes: true, encoding: 'buffer' })),
    lstat: (name) => use(name, (at) => lstat(at)),
    lstatAll: (names) =>
      run(() => Promise.all(names.map((name) => lstat(joinName(before, name)).catch(() => undefined)))),
    async open(name, flags = O_RDONLY) {
      const file = await use(name, (at) => open(at, flags | AS_FILE))
      const stats = await file.stat().catch(() => undefined)
      if (stats?.isFile()) return file
      await file.close()
      throw new ConfigError('not_a_plain_file', `${shown(name)} is not a plain file; remove it`)
    },
    read: async (name) => closeAfter(await folder.open(name), (file) => file.readFile()),
    async create(name, mode, flags = O_WRONLY) {
      const file = await use(name, (at) => open(at, flags | O_CREAT | O_EXCL | AS_FILE, mode))
      await file.chmod(mode).catch(orUnsupported)
      return file
    },
    openInner: (name) => use(name, (at) => openAt({ path: shown(name), via: at, noLink: NO_LINK, handles })),
    async makeInner(name, mode) {
      const found = await folder.openInner(name).catch(orMissing)
      if (found) return found
      const wanted = mode ?? (await folder.stats()).mode & 0o7777
      // Another process may create it at the same time, and then sets the same mode.
      const isMade = await use(name, (at) => mkdir(at, wanted)).then(() => true, orExists)
      const inner = await folder.openInner(name)
      if (isMade) await inner.chmod(wanted)
      return inner
    },
    rename: (name, to, newName) => use(name, (from) => to.use(newName, (target) => rename(from, target))),
    link: (name, to, newName) => use(name, (from) => to.use(newName, (target) => link(from, target))),
    unlink: (name) => use(name, (at) => unlink(at)),
    rmdir: (name) => use(name, (at) => rmdir(at)),
    async write(name, content, { mode, replace }) {
      const scratch = makeScratchName()
      try {
        await closeAfter(await folder.create(scratch, mode), async (file) => {
          await file.writeFile(content)
          await file.sync()
        })
        const isLinked = !replace && (await folder.link(scratch, folder, name).then(() => true, orNoLinks))
        if (!isLinked) await folder.rename(scratch, folder, name)
      } finally {
        await folder.unlink(scratch).catch(() => undefined)
      }
    },
    async createDurable(name) {
      const scratch = `${name}.${randomUUID()}.part`
      const file = await folder.create(scratch, 0o600)
      return {
        async write(bytes) {
          for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten
        },
        async commit() {
          await file.sync()
          await file.close()
          await folder.rename(scratch, folder, name)
          await folder.sync()
        },
        async abandon() {
          await file.close().catch(() => undefined)
          await folder.unlink(scratch).catch(orMissing)
        },
      }
    },
    lock: () => run(async () => (handle ? lockDescriptor(handle.fd) : 'unsupported')),
    chmod: (mode) => run(async () => handle?.chmod(mode).catch(orUnsupported)),
    assertWritable: () => run(() => access(via, constants.W_OK)),
    sync: () => run(async () => handle?.sync().catch(orUnsupported)),
    async close() {
      if (isClosed) return
      isClosed = true
      if (begun > 0) await new Promise((resolve) => (onEnd = () => resolve(undefined)))
      await handle?.close()
    },
  }
  return folder

  function shown(name: Name): string {
    return `${path}${path.endsWith(sep) ? '' : sep}${name.toString()}`
  }
}

const SLASH = Buffer.from('/')

/** Joins a folder's path, which ends in a slash, and a name. */
function joinName(before: Buffer, name: Name): Buffer {
  const last = typeof name === 'string' ? Buffer.from(name) : name
  // A name that leads to another folder is a bug in the caller.
  if (last.includes(0x2f) || last.includes(0) || (last.length < 3 && ['', '.', '..'].includes(String(last))))
    throw new Error(`${JSON.stringify(String(name))} is not the name of an entry of a folder`)
  return Buffer.concat([before, last])
}

/** Reports whether two stats describe the same file. */
export function isSame(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.dev === other.dev
}

function systemError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code, syscall: 'open' })
}

/** For `.catch()` of creating a file or folder: returns false on EEXIST, rethrows anything else. */
export function orExists(error: unknown): false {
  if (errorCode(error) !== 'EEXIST') throw error
  return false
}

/** For `.catch()` of link: returns false if the file system has no hard links, rethrows anything else. */
export function orNoLinks(error: unknown): false {
  if (!NO_LINKS.includes(errorCode(error))) throw error
  return false
}

function orUnsupported(error: unknown): void {
  if (!UNSUPPORTED.includes(errorCode(error))) throw error
}

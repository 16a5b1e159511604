import { type FileHandle, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { isIgnored } from '../../../core/dropfolder/walk-folder.ts'
import { type ByteSource, type DroppedFit, type Fault, refused } from '../../../core/fit/archive.ts'
import { isDroppable } from '../../../core/fit/fit-names.ts'
import { unpackDropped } from '../../../core/fit/unpack.ts'
import { ConfigError, errorCode } from '../../../kit/errors.ts'
import { readableName } from '../../../kit/folders/file-name.ts'
import { openBelow, openFolder } from '../../../kit/folders/folder.ts'
import { oddKindOf, type Steps, walkFolders } from '../../../kit/folders/walk.ts'
import { closeAfter } from '../../../kit/release-stack.ts'

/** A file that a command names, directly or by its folder, or the reason why the file is not read. `path` is shown to people. */
export type NamedFile = { path: string } & (
  | { name: Buffer; open: () => Promise<FileHandle> }
  | { reason: string }
)

/**
 * Lists the files that a command names. From a named folder, lists the files whose names the drop folder accepts, without hidden and system
 * folders. A named link is followed; a link in a folder is not. Lists an unreadable file with the reason and continues with the other
 * files. Throws ConfigError `no_file` if a named path does not exist.
 */
export async function scanNamed(paths: readonly string[]): Promise<NamedFile[]> {
  const listed: NamedFile[] = []
  for (const path of paths) {
    const stats = await stat(path).catch((error) => {
      throw new ConfigError('no_file', `cannot read ${path} (${errorCode(error)})`, { cause: error })
    })
    // One by one: spreading 100,000 arguments into push() overflows the stack.
    if (stats.isDirectory()) for (const file of await scanFolder(path)) listed.push(file)
    else listed.push({ path, name: Buffer.from(basename(path)), open: () => openNamed(path) })
  }
  return listed
}

async function scanFolder(top: string): Promise<NamedFile[]> {
  const listed: NamedFile[] = []
  const shown = (...steps: readonly Buffer[]) =>
    [top.replace(/\/+$/, ''), ...steps.map(readableName)].join('/')
  try {
    const unreadable = await closeAfter(await openFolder(top), (folder) =>
      walkFolders(folder, async ({ steps, entries }) => {
        const kept = entries.filter(({ name }) => !isIgnored(name.toString()))
        for (const entry of kept.filter(({ name }) => isDroppable(name.toString()))) {
          const { name } = entry
          const path = shown(...steps, name)
          const kind = oddKindOf(entry)
          if (kind !== undefined) listed.push({ path, reason: describeOdd(kind) })
          else if (entry.isFile()) listed.push({ path, name, open: () => openIn(top, steps, name) })
        }
        return kept.filter((entry) => entry.isDirectory()).map(({ name }) => name)
      }),
    )
    for (const { steps, error } of unreadable)
      listed.push({ path: shown(...steps), reason: describeUnread(error) })
  } catch (error) {
    listed.push({ path: top, reason: describeUnread(error) })
  }
  return listed
}

async function openIn(top: string, steps: Steps, name: Buffer): Promise<FileHandle> {
  return closeAfter(await openBelow(top, steps), (folder) => folder.open(name))
}

/** Opens a named file. Refuses a pipe, which would block the command and its signals. Throws ConfigError `not_a_plain_file`, and Node's errors. */
async function openNamed(path: string): Promise<FileHandle> {
  const kind = oddKindOf(await stat(path))
  if (kind !== undefined) throw new ConfigError('not_a_plain_file', describeOdd(kind))
  const real = await realpath(path)
  return closeAfter(await openFolder(dirname(real)), (folder) => folder.open(basename(real)))
}

function describeOdd(kind: string): string {
  return kind === 'a link'
    ? 'it is a link, and links in a folder are not followed; name its target'
    : `it is ${kind}, not a file`
}

/** Describes why a file or folder cannot be read. */
function describeUnread(error: unknown): string {
  const code = errorCode(error)
  return code === 'not_a_plain_file' ? (error as Error).message : `it cannot be read (${code})`
}

/** Makes a source of a file's bytes, which opens the file again for each range. Throws the errors of `openFile`. */
export async function sourceAt(openFile: () => Promise<FileHandle>): Promise<ByteSource> {
  const { size } = await closeAfter(await openFile(), (file) => file.stat())
  async function* read({ start, end } = { start: 0, end: size }) {
    // A stream's range includes its end, a ByteSource's range does not.
    if (end > start) yield* (await openFile()).createReadStream({ start, end: end - 1 })
  }
  return { sizeBytes: size, open: (range) => Readable.from(read(range), { objectMode: false }) }
}

/** A FIT file in a named file, or the reason why there is none; `path` is shown to people. */
export type NamedFit = { path: string } & (DroppedFit | { fault: Fault })

/** Lists the FIT files in a file; an archive may have several. */
export async function unpackNamed(file: NamedFile): Promise<NamedFit[]> {
  const { path } = file
  if ('reason' in file) return [{ path, fault: refused('unreadable', file.reason) }]
  const unpacked = await sourceAt(file.open)
    .then((source) => unpackDropped(basename(path), source))
    .catch(faultOf)
  if (!('files' in unpacked)) return [{ path, fault: 'fault' in unpacked ? unpacked.fault : unpacked }]
  const { files } = unpacked
  return files.map((fit) => ({ ...fit, path: files.length > 1 ? join(path, fit.name) : path }))
}

/** Makes the fault of a file that cannot be read from the disk. */
export function faultOf(error: unknown): { fault: Fault } {
  return { fault: refused('unreadable', describeUnread(error)) }
}

import type { Readable } from 'node:stream'
import {
  type Entry,
  fromRandomAccessReaderPromise,
  getFileNameLowLevel,
  RandomAccessReader,
  type ZipFile,
} from 'yauzl'
import { errorCode } from '../kit/errors.ts'
import {
  type ByteSource,
  type DropLimits,
  type DroppedFit,
  type Fault,
  judgeFront,
  mostUnpacked,
  refused,
  UnpackError,
  type Unpacked,
  unready,
} from './archive.ts'
import { cleanFitName } from './fit-names.ts'
import { gunzip } from './gzip.ts'

const STORED = 0
const DEFLATED = 8
const MODE_TYPE = 0xf000
const MODE_LINK = 0xa000
const MADE_ON_UNIX = 3
const SMALLER = 'drop its files in smaller archives'

/**
 * Lists every FIT file in a zip by the archive's directory: all of them, or none with the reason. Their bytes are read
 * when they are opened. Other files are skipped; an archive inside the archive refuses the whole, because its
 * activities would be missed silently. An archive whose directory is not there yet is `unready`. Throws the error of the
 * source when reading fails.
 */
export async function unpackZip(source: ByteSource, limits: DropLimits): Promise<Unpacked> {
  const files: DroppedFit[] = []
  let claimed = 0
  try {
    const options = { decodeStrings: false, autoClose: false }
    const zip = await fromRandomAccessReaderPromise(new SourceReader(source), source.sizeBytes, options)
    if (zip.entryCount > limits.entries) {
      return refused('too_many_entries', `it holds more than ${limits.entries} files; ${SMALLER}`)
    }
    for await (const entry of zip.eachEntry()) {
      const name = nameOf(entry)
      if (isSkipped(entry, name)) continue
      const stopped = judgeEntry(entry, name)
      if (stopped) return stopped
      if (!isFit(name)) continue
      if (files.length >= limits.files) {
        return refused('too_many_files', `it holds more than ${limits.files} FIT files; ${SMALLER}`)
      }
      claimed += entry.uncompressedSize
      const most = mostUnpacked(entry.compressedSize, limits)
      if (entry.uncompressedSize > most || claimed > limits.totalBytes) return tooLarge()
      files.push({ name: unusedName(name, files), open: () => readEntry(zip, entry, { name, most, limits }) })
    }
  } catch (error) {
    return faultOf(error)
  }
  return files.length > 0
    ? { verdict: 'files', files }
    : refused('no_fit_inside', 'the archive holds no FIT file')
}

/** Lets yauzl read from a source. */
class SourceReader extends RandomAccessReader {
  readonly #source: ByteSource

  constructor(source: ByteSource) {
    super()
    this.#source = source
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return this.#source.open({ start, end })
  }
}

/** Returns the name as the archive has it, with any path; only its last part and its ending are used. */
function nameOf(entry: Entry): string {
  return getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false)
}

function isFit(name: string): boolean {
  return /\.fit(\.gz)?$/i.test(name)
}

/** Returns whether an entry is a folder, a link, a hidden file, or one that macOS adds beside each file. */
function isSkipped(entry: Entry, name: string): boolean {
  if (name.endsWith('/')) return true
  if (/(^|\/)(\.(?!\.?\/)|__MACOSX\/)/.test(name)) return true
  const madeOnUnix = entry.versionMadeBy >> 8 === MADE_ON_UNIX
  return madeOnUnix && ((entry.externalFileAttributes >>> 16) & MODE_TYPE) === MODE_LINK
}

function judgeEntry(entry: Entry, name: string): Fault | undefined {
  if (/\.(zip|7z|rar|tar|tgz|tar\.gz)$/i.test(name)) {
    return refused(
      'archive_inside',
      'it holds an archive inside the archive; unpack it and drop what is inside',
    )
  }
  if (!isFit(name)) return undefined
  if (entry.isEncrypted()) {
    return refused('encrypted', 'the archive is locked with a password; unpack it and drop what is inside')
  }
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    return refused(
      'unknown_compression',
      'the archive is packed in a way that cannot be read; pack it as plain zip',
    )
  }
  return undefined
}

async function* readEntry(
  zip: ZipFile,
  entry: Entry,
  input: { name: string; most: number; limits: DropLimits },
): AsyncGenerator<Uint8Array> {
  const { name, most, limits } = input
  let size = 0
  try {
    if (/\.gz$/i.test(name)) {
      for await (const front of await openEntry(zip, entry)) {
        const fault = judgeFront(front, 'gzip')
        if (fault) throw new UnpackError(fault)
        break
      }
      const stream = await openEntry(zip, entry)
      yield* gunzip(stream, mostUnpacked(entry.uncompressedSize, limits))
      return
    }
    for await (const chunk of await openEntry(zip, entry)) {
      size += chunk.length
      // The directory of the archive may lie about sizes, so the unpacked bytes are counted, too.
      if (size > most) throw new UnpackError(tooLarge())
      yield chunk
    }
  } catch (error) {
    throw new UnpackError(faultOf(error))
  }
}

async function openEntry(zip: ZipFile, entry: Entry): Promise<Readable & AsyncIterable<Uint8Array>> {
  return zip.openReadStreamPromise(entry)
}

/** Turns an error of yauzl or zlib into a fault of the archive. Throws every other error: those of the disk have a code. */
function faultOf(error: unknown): Fault {
  if (error instanceof UnpackError) return error.fault
  const code = errorCode(error)
  if (code !== 'unexpected' && !/^(Z|ERR)_/.test(code)) throw error
  return unready('incomplete', 'the archive is cut, damaged or not written yet')
}

function unusedName(name: string, files: readonly DroppedFit[]): string {
  const clean = cleanFitName(name)
  const used = new Set(files.map((file) => file.name.toLowerCase()))
  let unused = clean
  for (let i = 2; used.has(unused.toLowerCase()); i++) unused = clean.replace(/\.fit$/, ` (${i}).fit`)
  return unused
}

function tooLarge(): Fault {
  return refused('too_large', `it unpacks to more than a drop may hold; ${SMALLER}`)
}

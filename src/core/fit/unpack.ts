import { Readable } from 'node:stream'
import {
  type Entry,
  fromRandomAccessReaderPromise,
  getFileNameLowLevel,
  RandomAccessReader,
  type ZipFile,
} from 'yauzl'
import { errorCode } from '../../kit/errors.ts'
import { foldName } from '../../kit/folders/file-name.ts'
import {
  type ByteSource,
  DROP_LIMITS,
  type DropLimits,
  type DroppedFit,
  type Fault,
  isFormat,
  mostUnpacked,
  refused,
  UnpackError,
  type Unpacked,
  unpackBytes,
  unready,
} from './archive.ts'
import { cleanFitName } from './fit-names.ts'
import { HEADER_SIZES } from './fit-walker.ts'

const STORED = 0
const DEFLATED = 8
const MODE_TYPE = 0xf000
const MODE_LINK = 0xa000
const MADE_ON_UNIX = 3
const SMALLER = 'drop its files in smaller archives'

/**
 * Lists the FIT files in a dropped file by its content, whatever its name: FIT, gzip, or zip with FIT files and further zip archives. Names
 * are base names, cleaned, unique, ending in `.fit`. Reads only the directory of an archive, and does not judge the FIT files. Returns
 * `unready` for an archive that may still grow, and `refused` for an archive that has no FIT files or unpacks to more than `limits`. Throws
 * the error of the source if reading fails.
 */
export async function unpackDropped(
  name: string,
  source: ByteSource,
  limits: DropLimits = DROP_LIMITS,
): Promise<Unpacked> {
  if (source.sizeBytes === 0) return unready('empty', 'the file is empty')
  // The first two bytes show the format of an archive.
  const front = Buffer.concat(await source.open({ start: 0, end: Math.min(2, source.sizeBytes) }).toArray())
  if (isFormat('zip', front)) return unpackZip(source, limits)
  const isPacked = isFormat('gzip', front)
  const [ending] = /\.(?:zip|gz)$/i.exec(name) ?? []
  // A file whose first byte is zero may still become an archive.
  if (ending && !isPacked && front[0] && !HEADER_SIZES.includes(front[0]))
    return refused('not_archive', `its name ends in ${ending}, but it is neither an archive nor a FIT file`)
  if (source.sizeBytes > limits.fileBytes) {
    const mib = limits.fileBytes / 1_024 / 1_024
    return refused('too_large', `it is larger than any FIT file (${mib} MiB); check its content`)
  }
  const open = () => unpackBytes(source.open(), mostUnpacked(source.sizeBytes, limits))
  return { verdict: 'files', files: [{ name: cleanFitName(name), open }], isPacked }
}

/**
 * Lists every FIT file in a zip and in the zip archives inside it, by their directories. The bytes of a file are read, and its fault is
 * reported, when it is opened. Skips other files. Returns `unready` if the directory of the archive is missing. Throws errors of the
 * source.
 */
async function unpackZip(source: ByteSource, limits: DropLimits): Promise<Unpacked> {
  const list: FileList = { limits, files: [], names: new Set(), entries: 0, bytes: 0 }
  try {
    await readZip(source, list, 0)
  } catch (error) {
    return faultOf(error)
  }
  const { files } = list
  return files.length > 0
    ? { verdict: 'files', files, isPacked: true }
    : refused('no_fit_inside', 'the archive holds no FIT file')
}

/** The files of an archive and the archives inside it, with the total number of entries and bytes. */
type FileList = {
  limits: DropLimits
  files: DroppedFit[]
  names: Set<string>
  entries: number
  bytes: number
}

/** How deep archives inside an archive are read. Each file in a deeper archive would require reading that archive again. */
const MAX_NESTING = 1

async function readZip(source: ByteSource, list: FileList, nesting: number): Promise<void> {
  const { limits } = list
  const options = { decodeStrings: false, autoClose: false }
  const zip = await fromRandomAccessReaderPromise(new SourceReader(source), source.sizeBytes, options)
  list.entries += zip.entryCount
  if (list.entries > limits.entries)
    throw new UnpackError(
      refused('too_many_entries', `it holds more than ${limits.entries} files; ${SMALLER}`),
    )
  const wanted: Array<{ entry: Entry; name: string; most: number }> = []
  for await (const entry of zip.eachEntry()) {
    // The name with any path. Only its last part and its ending are used.
    const { generalPurposeBitFlag, fileNameRaw, extraFields } = entry
    const name = getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, false)
    if (isSkipped(entry, name) || (!isFit(name) && !isArchive(name))) continue
    const { fileBytes, totalBytes } = limits
    const most = mostUnpacked(entry.compressedSize, {
      ...limits,
      fileBytes: isFit(name) ? fileBytes : totalBytes,
    })
    list.bytes += Math.min(most, entry.uncompressedSize)
    if (list.bytes > totalBytes) throw new UnpackError(tooLarge())
    wanted.push({ entry, name, most })
  }
  // An archive inside another archive can only be read forward.
  wanted.sort((a, b) => a.entry.relativeOffsetOfLocalHeader - b.entry.relativeOffsetOfLocalHeader)
  for (const { entry, name, most } of wanted) {
    const fault = judgeEntry(entry, { name, most, nesting })
    const add = (open: DroppedFit['open']) => list.files.push({ name: unusedName(name, list.names), open })
    if (fault) add(() => failing(fault))
    else if (isFit(name)) add(() => readEntry(zip, entry, most))
    else
      await readZip(forwardSource(zip, entry), list, nesting + 1).catch((error: unknown) => {
        const cut = faultOf(error)
        add(() => failing(cut))
      })
  }
}

// biome-ignore lint/correctness/useYield: it throws before the first bytes
async function* failing(fault: Fault): AsyncGenerator<Uint8Array> {
  throw new UnpackError(fault)
}

/** Makes a source of the bytes of an entry. They can only be read forward, so an earlier range starts again at the beginning. */
function forwardSource(zip: ZipFile, entry: Entry): ByteSource {
  type Reading = { chunks: AsyncIterator<Uint8Array>; held: Uint8Array; place: number; isBusy: boolean }
  let last: Reading | undefined
  async function* read({ start, end }: { start: number; end: number }): AsyncGenerator<Uint8Array> {
    if (!last || last.isBusy || last.place > start) {
      const chunks = (await openEntry(zip, entry))[Symbol.asyncIterator]()
      last = { chunks, held: new Uint8Array(), place: 0, isBusy: true }
    }
    const reading = last
    reading.isBusy = true
    while (reading.place < end) {
      if (reading.held.length === 0) {
        const next = await reading.chunks.next()
        if (next.done) break
        reading.held = next.value
      }
      const isBefore = reading.place < start
      const piece = reading.held.subarray(0, (isBefore ? start : end) - reading.place)
      reading.held = reading.held.subarray(piece.length)
      reading.place += piece.length
      if (!isBefore) yield piece
    }
    reading.isBusy = false
  }
  const { uncompressedSize: sizeBytes } = entry
  const open: ByteSource['open'] = (range = { start: 0, end: sizeBytes }) =>
    Readable.from(read(range), { objectMode: false })
  return { sizeBytes, open }
}

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

function isFit(name: string): boolean {
  return /\.fit(\.gz)?$/i.test(name)
}

function isArchive(name: string): boolean {
  return /\.(zip|7z|rar|tar|tgz|tar\.gz)$/i.test(name)
}

/** Reports whether an entry is a folder, a link, a hidden file, or a metadata file of macOS. */
function isSkipped(entry: Entry, name: string): boolean {
  if (name.endsWith('/')) return true
  if (/(^|\/)(\.(?!\.?\/)|__MACOSX\/)/.test(name)) return true
  const madeOnUnix = entry.versionMadeBy >> 8 === MADE_ON_UNIX
  return madeOnUnix && ((entry.externalFileAttributes >>> 16) & MODE_TYPE) === MODE_LINK
}

function judgeEntry(entry: Entry, { name, most, nesting }: { name: string; most: number; nesting: number }) {
  if (isArchive(name) && (nesting >= MAX_NESTING || !/\.zip$/i.test(name))) {
    const kind = nesting >= MAX_NESTING ? 'an archive inside an archive' : 'an archive, but not a zip'
    return refused('archive_inside', `it is ${kind}; unpack it and drop the files inside`)
  }
  if (entry.isEncrypted()) {
    return refused('encrypted', 'it is encrypted with a password; unpack it and drop the files inside')
  }
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    return refused(
      'unknown_compression',
      'its compression method is not supported; compress it as a plain zip',
    )
  }
  return entry.uncompressedSize > most ? tooLarge() : undefined
}

async function* readEntry(zip: ZipFile, entry: Entry, most: number): AsyncGenerator<Uint8Array> {
  let size = 0
  try {
    for await (const chunk of unpackBytes(await openEntry(zip, entry), most)) {
      size += chunk.length
      // The directory of an archive may state wrong sizes, so unpacked bytes are counted.
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

/** Turns an error of yauzl or zlib into a fault. Throws other errors, such as the disk's errors. */
function faultOf(error: unknown): Fault {
  if (error instanceof UnpackError) return error.fault
  const code = errorCode(error)
  if (code !== 'unexpected' && !/^(Z|ERR)_/.test(code)) throw error
  return unready('incomplete', 'the archive is truncated, damaged or not fully written yet')
}

function unusedName(name: string, used: Set<string>): string {
  const clean = cleanFitName(name)
  let unused = clean
  for (let i = 2; used.has(foldName(unused)); i++) unused = clean.replace(/\.fit$/, ` (${i}).fit`)
  used.add(foldName(unused))
  return unused
}

function tooLarge(): Fault {
  return refused('too_large', `it unpacks to more than one drop may hold; ${SMALLER}`)
}

import { type Entry, fromBufferPromise, getFileNameLowLevel, type ZipFile } from 'yauzl'
import { cleanFitName } from '../names.ts'
import type { Unpacked, UnpackedFile } from '../unpack.ts'
import { gunzipWithin } from './gzip.ts'
import { type DropLimits, mostUnpacked } from './limits.ts'

type Stopped = Exclude<Unpacked, { verdict: 'files' }>

const STORED = 0
const DEFLATED = 8
const MODE_TYPE = 0xf000
const MODE_LINK = 0xa000
const MADE_ON_UNIX = 3

/**
 * Reads every FIT file out of a zip: all of them, or none with the reason. Other files in it are passed over; an archive
 * inside the archive refuses the whole, because rides in it would be missed without a word. Never throws: an archive
 * whose directory is not there yet, or whose bodies do not unpack, is `unready`.
 */
export async function readZip(bytes: Uint8Array, limits: DropLimits): Promise<Unpacked> {
  const early = judgeFront(bytes)
  if (early) return early
  const files: UnpackedFile[] = []
  let room = limits.totalBytes
  try {
    const zip = await fromBufferPromise(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), {
      decodeStrings: false,
    })
    for await (const entry of zip.eachEntry()) {
      const name = nameOf(entry)
      if (isPassedOver(entry, name)) continue
      const stopped = judgeEntry(entry, name)
      if (stopped) return stopped
      if (!/\.fit(\.gz)?$/i.test(name)) continue
      if (files.length >= limits.files) {
        return refused(
          'too_many_files',
          `it holds more than ${limits.files} FIT files; drop them in smaller archives`,
        )
      }
      const read = await readEntry(zip, entry, { name, room, limits })
      if (!('bytes' in read)) return read
      room -= read.bytes.length
      files.push({ name: unusedName(name, files), bytes: read.bytes })
    }
  } catch {
    return { verdict: 'unready', code: 'incomplete' }
  }
  return files.length > 0
    ? { verdict: 'files', files }
    : refused('no_fit_inside', 'the archive holds no FIT file')
}

function judgeFront(bytes: Uint8Array): Stopped | undefined {
  const [first, second] = bytes
  if (first === undefined) return { verdict: 'unready', code: 'empty' }
  if (first === 0) return { verdict: 'unready', code: 'reserved' }
  if (first !== 0x50 || (second !== undefined && second !== 0x4b)) {
    return refused('not_zip', 'it is named .zip, but is no zip archive')
  }
  return undefined
}

/** The name as the archive has it, with any path; only ever used for its last part and its ending. */
function nameOf(entry: Entry): string {
  return getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false)
}

/** Folders, links, hidden files, and what a Mac puts beside each file. */
function isPassedOver(entry: Entry, name: string): boolean {
  if (name.endsWith('/')) return true
  if (/(^|\/)(\.(?!\.?\/)|__MACOSX\/)/.test(name)) return true
  const madeOnUnix = entry.versionMadeBy >> 8 === MADE_ON_UNIX
  return madeOnUnix && ((entry.externalFileAttributes >>> 16) & MODE_TYPE) === MODE_LINK
}

function judgeEntry(entry: Entry, name: string): Stopped | undefined {
  if (/\.(zip|7z|rar|tar|tgz|tar\.gz)$/i.test(name)) {
    return refused(
      'archive_inside',
      'it holds an archive inside the archive; unpack it and drop what is inside',
    )
  }
  if (!/\.fit(\.gz)?$/i.test(name)) return undefined
  if (entry.isEncrypted()) return refused('encrypted', 'the archive is locked with a password')
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    return refused(
      'unknown_compression',
      'the archive is packed in a way that cannot be read; pack it as plain zip',
    )
  }
  return undefined
}

async function readEntry(
  zip: ZipFile,
  entry: Entry,
  input: { name: string; room: number; limits: DropLimits },
): Promise<{ bytes: Uint8Array } | Stopped> {
  const { name, limits } = input
  const most = Math.min(input.room, mostUnpacked(entry.compressedSize, limits.fileBytes, limits.ratio))
  if (entry.uncompressedSize > most) return tooLarge()
  const stream = await zip.openReadStreamPromise(entry)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    size += chunk.length
    // The directory of the archive was written by a stranger: what comes out is counted, too.
    if (size > most) return tooLarge()
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  if (!/\.gz$/i.test(name)) return { bytes }
  const read = await gunzipWithin(bytes, Math.min(input.room, limits.fileBytes), limits.ratio)
  return 'bytes' in read || read.verdict === 'unready'
    ? read
    : refused(read.code, `${cleanFitName(name)}: ${read.reason}`)
}

function unusedName(name: string, files: readonly UnpackedFile[]): string {
  const clean = cleanFitName(name.replace(/\.gz$/i, ''))
  const used = new Set(files.map((file) => file.name.toLowerCase()))
  let unused = clean
  for (let i = 2; used.has(unused.toLowerCase()); i++) unused = clean.replace(/\.fit$/, ` (${i}).fit`)
  return unused
}

function tooLarge(): Stopped {
  return refused('too_large', 'it unpacks to more than a drop may hold')
}

function refused(code: string, reason: string): Stopped {
  return { verdict: 'refused', code, reason }
}

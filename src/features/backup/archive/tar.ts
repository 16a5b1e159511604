import { MusetteError } from '../../../kit/errors.ts'
import { damaged } from './backup-errors.ts'

export type Entry = { name: string; bytes: Buffer }

const BLOCK = 512
export const ARCHIVE_END = Buffer.alloc(2 * BLOCK)
/** Maximum size of an entry, bytes: far larger than a part or a manifest, and small enough for memory. */
const LARGEST = 64 * 1024 * 1024
const NAME_BYTES = 100

/** Makes an entry of a tar archive (ustar, a plain file of mode 0600) with its padding; `time` is in whole seconds since 1970. */
export function makeEntry({ name, bytes }: Entry, time: number): Buffer {
  const padding = Buffer.alloc(paddingOf(bytes.length))
  return Buffer.concat([makeHeader({ name, size: bytes.length, time }), bytes, padding])
}

/**
 * Reads the entries of an archive that `makeEntry` made. Checks every byte of the headers and the padding, which tar programs ignore.
 * Throws MusetteError `backup_damaged` for a changed, missing or extra byte, and `backup_cut_off` if the archive ends early. Does not check
 * the content of an entry.
 */
export async function* readEntries(source: AsyncIterable<Buffer>): AsyncGenerator<Entry> {
  const read = makeReader(source)
  for (;;) {
    const header = await read(BLOCK)
    if (header.equals(ARCHIVE_END.subarray(0, BLOCK))) break
    const { name, size } = parseHeader(header)
    const bytes = await read(size)
    if ((await read(paddingOf(size))).some((byte) => byte !== 0)) throw damaged(`after ${name}`)
    yield { name, bytes }
  }
  if (!(await read(BLOCK)).equals(ARCHIVE_END.subarray(BLOCK))) throw damaged('at its end')
  if (await read.hasMore()) throw damaged('more follows after its end')
}

function makeHeader({ name, size, time }: { name: string; size: number; time: number }): Buffer {
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0')
  header.write(name, 0, NAME_BYTES, 'latin1')
  header.write(octal(0o600, 7), 100)
  header.write(octal(0, 7), 108)
  header.write(octal(0, 7), 116)
  header.write(octal(size, 11), 124)
  header.write(octal(time, 11), 136)
  // The checksum is computed with spaces in its own field.
  header.write('        0', 148)
  header.write('ustar\0' + '00', 257, 'latin1')
  header.write(octal(0, 7), 329)
  header.write(octal(0, 7), 337)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octal(sum, 6)}\0 `, 148, 'latin1')
  return header
}

function parseHeader(header: Buffer): { name: string; size: number } {
  const name = header.toString('latin1', 0, header.indexOf(0))
  const size = Number.parseInt(header.toString('latin1', 124, 135), 8)
  const time = Number.parseInt(header.toString('latin1', 136, 147), 8)
  const isKnown = /^[\w./-]{1,99}$/.test(name) && size <= LARGEST && time >= 0
  if (isKnown && makeHeader({ name, size, time }).equals(header)) return { name, size }
  throw damaged('in the header of an entry')
}

function paddingOf(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK
}

/** Returns a function that reads exactly the next `size` bytes of a source, or throws `backup_cut_off` if fewer are left. */
function makeReader(source: AsyncIterable<Buffer>) {
  const chunks = source[Symbol.asyncIterator]()
  let held: Buffer[] = []
  let length = 0
  const fill = async (size: number): Promise<boolean> => {
    while (length < size) {
      const next = await chunks.next()
      if (next.done) return false
      held.push(next.value)
      length += next.value.length
    }
    return true
  }
  const read = async (size: number): Promise<Buffer> => {
    if (!(await fill(size))) {
      const message = 'the backup is cut off, so it is not complete; nothing is restored; use another backup'
      throw new MusetteError('backup_cut_off', message)
    }
    const whole = Buffer.concat(held, length)
    const rest = whole.subarray(size)
    held = [rest]
    length = rest.length
    return whole.subarray(0, size)
  }
  return Object.assign(read, { hasMore: () => fill(1) })
}

import { randomBytes } from 'node:crypto'
import { ASIDE } from '../disk/ignored.ts'

/** What the usual file systems take for one name, in bytes. */
const MAX_NAME_BYTES = 255
const EXTENSION = /(?:\.fit\.gz|\.[^.]{1,10})$/i

/**
 * Makes the n-th name for a file: the name itself, then `ride (2).fit`, `ride (3).fit`. Bytes in, bytes out; the stem is
 * cut, between characters, where the whole would be longer than 255 bytes.
 */
export function numberedName(name: Buffer, n: number): Buffer {
  if (n === 1) return name
  const extension = EXTENSION.exec(name.toString('latin1'))?.[0] ?? ''
  const stem = name.subarray(0, name.length - extension.length)
  return withEnding(stem, ` (${n})${extension}`)
}

/** Makes the name of the text beside a failed file: `ride.fit.txt`. */
export function textName(name: Buffer): Buffer {
  return withEnding(name, '.txt')
}

/** Where the name of a file begins that was set aside: after the mark, 16 digits and a dash. */
const ASIDE_NAME_AT = ASIDE.length + 17

/** Makes a hidden name, like no other, under which the old name of a moved file is set aside; it tells the name where there is room. */
export function asideName(name: Buffer): Buffer {
  const mark = Buffer.from(`${ASIDE}${randomBytes(8).toString('hex')}`)
  const whole = Buffer.concat([mark, Buffer.from('-'), name])
  return whole.length <= MAX_NAME_BYTES ? whole : mark
}

/** The name of a file that was set aside; undefined where there was no room for it. */
export function nameOfAside(aside: Buffer): Buffer | undefined {
  return aside.length > ASIDE_NAME_AT ? aside.subarray(ASIDE_NAME_AT) : undefined
}

function withEnding(stem: Buffer, ending: string): Buffer {
  const end = Buffer.from(ending, 'latin1')
  let length = Math.min(stem.length, MAX_NAME_BYTES - end.length)
  // A byte that continues a UTF-8 character must not be the first one cut off.
  if (length < stem.length) while (length > 0 && ((stem[length] ?? 0) & 0xc0) === 0x80) length -= 1
  return Buffer.concat([stem.subarray(0, length), end])
}

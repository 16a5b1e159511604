import { Decoder, Stream } from '@garmin/fitsdk'

/** Why bytes are no whole FIT file: `incomplete` may become whole while it is still being written. */
export type PartsFault = 'not_fit' | 'incomplete' | 'bad_checksum'

/** `wholeBytes` is the length of the whole parts before the fault. */
export type FitParts =
  | { ok: true; parts: Uint8Array[] }
  | { ok: false; code: PartsFault; reason: string; wholeBytes: number }

const CRC_BYTES = 2

/**
 * Splits bytes into the FIT files chained in them, each checked for header, length and checksum.
 * The kit's own whole-file check passes chained files whose second part is damaged, so each part is checked.
 */
export function splitFitParts(bytes: Uint8Array): FitParts {
  const parts: Uint8Array[] = []
  let offset = 0
  while (offset < bytes.length || parts.length === 0) {
    const rest = bytes.subarray(offset)
    const size = partSize(rest)
    if (size === undefined) return headerFault(rest, parts.length, offset)
    if (size > rest.length) {
      return fault('incomplete', `${size - rest.length} bytes are missing at the end`, offset)
    }
    const part = rest.subarray(0, size)
    if (!new Decoder(Stream.fromBuffer(part)).checkIntegrity()) {
      return fault('bad_checksum', `the checksum of part ${parts.length + 1} is wrong`, offset)
    }
    parts.push(part)
    offset += size
  }
  return { ok: true, parts }
}

/** The length in bytes that the header at the front announces; undefined when there is no FIT header. */
function partSize(bytes: Uint8Array): number | undefined {
  const headerSize = bytes[0]
  if (headerSize === undefined || headerSize < 12 || bytes.length < 12) return undefined
  if (String.fromCharCode(...bytes.subarray(8, 12)) !== '.FIT') return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return headerSize + view.getUint32(4, true) + CRC_BYTES
}

function headerFault(rest: Uint8Array, before: number, offset: number): FitParts {
  if (rest.length < 12) return fault('incomplete', 'the file ends inside a header', offset)
  if (before > 0) return fault('not_fit', `the bytes after part ${before} are no FIT file`, offset)
  return fault('not_fit', 'the bytes do not start with a FIT header', offset)
}

function fault(code: PartsFault, reason: string, wholeBytes: number): FitParts {
  return { ok: false, code, reason, wholeBytes }
}

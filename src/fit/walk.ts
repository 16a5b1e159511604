import { fitCrc } from './crc.ts'
import { type Asking, type FitFacts, readFitFacts } from './facts.ts'

/** Why bytes are no whole FIT file, or not yet. `not_fit`: they never become one. */
export type WalkFault =
  | 'empty'
  | 'reserved'
  | 'growing'
  | 'incomplete'
  | 'bad_checksum'
  | 'not_fit'
  | 'too_many_parts'

/**
 * The whole parts at the front, how many bytes they are, and what ended the walk: nothing (`null`), or why the bytes behind
 * them are no further part. `padding`: those are zeros, or fewer than a header has, and so hold nothing of a ride.
 */
export type FitWalk = {
  parts: FitFacts[]
  wholeBytes: number
  fault: { code: WalkFault; reason: string; padding: boolean } | null
}

/** The only header lengths of the protocol: without and with a checksum of its own. */
const HEADER_SIZES: readonly number[] = [12, 14]
const SHORTEST_HEADER = 12
const CRC_BYTES = 2
/** Bytes of which nothing is wanted but their checksum are taken in pieces of this size. */
const PIECE_BYTES = 64 * 1_024
/** A device chains a handful of parts; a small file of a million empty ones would keep the process busy for seconds. */
const MOST_PARTS = 500

/**
 * Walks over the FIT parts chained in a file (FIT protocol, "Chained FIT Files"): header, declared length and checksum of
 * each. A generator that asks for the next bytes, so that a file of any size needs no more memory than its longest message.
 */
export function* walkFit(): Asking<FitWalk> {
  const parts: FitFacts[] = []
  let wholeBytes = 0
  const stop = (code: WalkFault, reason: string, padding = false): FitWalk => ({
    parts,
    wholeBytes,
    fault: { code, reason, padding },
  })
  for (;;) {
    const first = yield 1
    const size = first[0]
    if (size === undefined) {
      return parts.length > 0 ? { parts, wholeBytes, fault: null } : stop('empty', 'the file is empty')
    }
    if (!HEADER_SIZES.includes(size)) {
      const rest = yield* readRest(first)
      return parts.length === 0 ? stopFirst(stop, size) : stopAfter(stop, rest, parts.length)
    }
    if (parts.length === MOST_PARTS) {
      return stop('too_many_parts', `it holds more than ${MOST_PARTS} chained FIT files`)
    }
    const more = yield size - 1
    if (more.length < size - 1) return stop('incomplete', 'it ends inside a header')
    const header = Uint8Array.of(size, ...more)
    const dataSize = new DataView(header.buffer).getUint32(4, true)
    // Recorders write the length when the ride ends; until then it is zero.
    if (dataSize === 0 && parts.length === 0) {
      return stop('growing', 'its header gives no length yet, as in a file that is being recorded')
    }
    if (String.fromCharCode(...header.subarray(8, 12)) !== '.FIT') {
      return parts.length === 0
        ? stop('not_fit', 'it does not start with a FIT header')
        : stop('not_fit', `the bytes after part ${parts.length} are no FIT file`)
    }
    const read = yield* readPart(header, dataSize)
    if (typeof read === 'number') return stop('incomplete', `${read} bytes are missing at its end`)
    if (!read) {
      const which = parts.length === 0 ? 'its checksum' : `the checksum of part ${parts.length + 1}`
      return stop('bad_checksum', `${which} is wrong: bytes in it are damaged or not written yet`)
    }
    parts.push(read)
    wholeBytes += size + dataSize + CRC_BYTES
  }
}

/** Reads messages and checksum of a part. Returns its facts, false for a wrong checksum, or how many bytes are missing. */
function* readPart(header: Uint8Array, dataSize: number): Asking<FitFacts | false | number> {
  let crc = fitCrc(0, header)
  let left = dataSize + CRC_BYTES
  function* counted<T>(asking: Asking<T>): Asking<T> {
    for (let step = asking.next(); ; ) {
      if (step.done) return step.value
      const bytes = yield step.value
      crc = fitCrc(crc, bytes)
      left -= bytes.length
      step = asking.next(bytes)
    }
  }
  const facts = yield* counted(readFitFacts(dataSize))
  while (left > 0) {
    const wanted = Math.min(left, PIECE_BYTES)
    const piece = yield wanted
    crc = fitCrc(crc, piece)
    left -= piece.length
    if (piece.length < wanted) return left
  }
  return crc === 0 && isHeaderRight(header) ? facts : false
}

/** The longer header has a checksum of its own, which may be left out as zero. */
function isHeaderRight(header: Uint8Array): boolean {
  if (header.length === SHORTEST_HEADER) return true
  const own = (header[12] ?? 0) | ((header[13] ?? 0) << 8)
  return own === 0 || own === fitCrc(0, header.subarray(0, 12))
}

type Stop = (code: WalkFault, reason: string, padding?: boolean) => FitWalk

function stopFirst(stop: Stop, first: number): FitWalk {
  // A share that reserves the size first, or writes the header last, shows zeros where the header will be.
  if (first === 0) return stop('reserved', 'it holds zeros where its header belongs')
  return stop('not_fit', 'it does not start with a FIT header')
}

function stopAfter(stop: Stop, rest: Rest, parts: number): FitWalk {
  if (rest.isBlank) return stop('reserved', `${rest.bytes} zero bytes follow the end of the FIT file`, true)
  if (rest.bytes < SHORTEST_HEADER) {
    const bytes = rest.bytes === 1 ? '1 byte follows' : `${rest.bytes} bytes follow`
    return stop('incomplete', `${bytes} the end of the FIT file`, true)
  }
  return stop('not_fit', `the bytes after part ${parts} are no FIT file`)
}

type Rest = { bytes: number; isBlank: boolean }

/** Reads on for as long as it may matter: zeros to the end, anything else for the length of a header. */
function* readRest(first: Uint8Array): Asking<Rest> {
  const rest = { bytes: first.length, isBlank: first.every((byte) => byte === 0) }
  while (rest.isBlank || rest.bytes < SHORTEST_HEADER) {
    const wanted = rest.isBlank ? PIECE_BYTES : SHORTEST_HEADER
    const piece = yield wanted
    rest.bytes += piece.length
    rest.isBlank &&= piece.every((byte) => byte === 0)
    if (piece.length < wanted) break
  }
  return rest
}

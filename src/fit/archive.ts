import type { Readable } from 'node:stream'

/** Bytes that can be read more than once, whole or from `start` to before `end`. */
export type ByteSource = { sizeBytes: number; open(range?: { start: number; end: number }): Readable }

/** A FIT file in a dropped file. `open` reads its bytes from the start, and throws UnpackError where they cannot be unpacked. */
export type DroppedFit = { name: string; open: () => AsyncIterable<Uint8Array> }

export type Unpacked = { verdict: 'files'; files: ReadonlyArray<DroppedFit> } | Fault

/** What an archive may unpack to; beyond it the whole archive is refused. `entries` counts files of any kind. */
export type DropLimits = Readonly<{
  entries: number
  files: number
  fileBytes: number
  totalBytes: number
  ratio: number
}>

const MIB = 1_024 * 1_024

/**
 * A day of riding with every sensor is under 10 MiB of FIT, and years of rides are a few thousand files in many archives.
 * An export of everything a service has may hold photos and routes, too. FIT packs to between a half and a tenth; zeros to
 * a thousandth.
 */
export const DROP_LIMITS: DropLimits = {
  entries: 20_000,
  files: 2_000,
  fileBytes: 64 * MIB,
  totalBytes: 1_024 * MIB,
  ratio: 100,
}

/** Below this size no ratio makes a bomb: a tiny FIT file of repeated values may pack extremely well. */
const RATIO_COUNTS_FROM_BYTES = MIB

/** Returns the most bytes that `packedBytes` may unpack to. */
export function mostUnpacked(packedBytes: number, { fileBytes, ratio }: DropLimits): number {
  return Math.min(fileBytes, Math.max(RATIO_COUNTS_FROM_BYTES, packedBytes * ratio))
}

/** The reason why an archive cannot be unpacked; `unready`: not yet, because it may still be written to. */
export type Fault =
  | { verdict: 'unready'; code: string; reason: string }
  | { verdict: 'refused'; code: string; reason: string }

const FORMATS = {
  gzip: { magic: [0x1f, 0x8b], other: 'it is named .gz, but is no gzip file' },
  zip: { magic: [0x50, 0x4b], other: 'it is named .zip, but is no zip archive' },
} as const

/** Judges the first two bytes of an archive; undefined when they are right. */
export function judgeFront([first, second]: Uint8Array, format: keyof typeof FORMATS): Fault | undefined {
  const { magic, other } = FORMATS[format]
  if (first === undefined) return unready('empty', 'the file is empty')
  if (first === 0) return unready('reserved', 'it holds zeros where its beginning belongs')
  if (first === magic[0] && (second === undefined || second === magic[1])) return undefined
  return refused(`not_${format}`, other)
}

/** Makes the fault of an archive that may still become readable. */
export function unready(code: string, reason: string): Fault {
  return { verdict: 'unready', code, reason }
}

/** Makes the fault of an archive that never becomes readable. */
export function refused(code: string, reason: string): Fault {
  return { verdict: 'refused', code, reason }
}

/** A fault that shows only while bytes are unpacked. */
export class UnpackError extends Error {
  override readonly name = 'UnpackError'
  readonly fault: Fault

  constructor(fault: Fault) {
    super(fault.reason)
    this.fault = fault
  }
}

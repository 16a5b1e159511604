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

/** The most bytes that `packedBytes` may unpack to. */
export function mostUnpacked(packedBytes: number, fileBytes: number, ratio: number): number {
  return Math.min(fileBytes, Math.max(RATIO_COUNTS_FROM_BYTES, packedBytes * ratio))
}

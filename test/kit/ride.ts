import { makeFitFile } from '../../src/sandbox/fit-file.ts'

/** The longest ride of a test's history: most of the time of a test is writing, reading and comparing samples. */
export const LONGEST_ACTIVITY_SECONDS = 600

/** Makes the FIT file of a short ride; another `start` or `seed` gives other bytes. */
export function makeRide(input: { start?: string; seed?: number; seconds?: number } = {}): Buffer {
  const startedAt = new Date(input.start ?? '2026-05-03T08:00:00Z')
  return Buffer.from(makeFitFile({ startedAt, seconds: input.seconds ?? 60, seed: input.seed ?? 1 }))
}

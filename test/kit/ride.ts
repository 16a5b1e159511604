import { makeFitFile } from '../../src/sandbox/fit-file.ts'

/** Maximum length of a ride in the history of a test: tests spend most of their time writing, reading and comparing samples. */
export const LONGEST_ACTIVITY_SECONDS = 600

/** Makes the FIT file of a short ride. Another `start` or `seed` gives other bytes. */
export function makeRide(input: { start?: string; seed?: number; seconds?: number } = {}): Buffer {
  const startedAt = new Date(input.start ?? '2026-05-03T08:00:00Z')
  return Buffer.from(makeFitFile({ startedAt, seconds: input.seconds ?? 60, seed: input.seed ?? 1 }))
}

import type { Tx } from '../store.ts'
import { copyChunks } from './copy.ts'
import { type EncodeTally, encodeSamples } from './encode.ts'
import type { Samples } from './samples.ts'

/** How many rows were written, and how many values among them were NULLed because their column cannot hold them. */
export type SamplesWritten = { written: number; outOfRange: number }

/** Replaces an activity's samples as a whole, by binary COPY. */
export async function replaceSamples(tx: Tx, activityId: number, samples: Samples): Promise<SamplesWritten> {
  await tx.client.query('DELETE FROM training.samples WHERE activity_id = $1', [activityId])
  return await insertSamples(tx, activityId, samples)
}

/** Writes the samples of an activity that has none. */
export async function insertSamples(tx: Tx, activityId: number, samples: Samples): Promise<SamplesWritten> {
  if (samples.count === 0) return { written: 0, outOfRange: 0 }
  const tally: EncodeTally = { outOfRange: 0 }
  const { columns, chunks } = encodeSamples(activityId, samples, tally)
  const copy = `COPY training.samples (${columns.join(', ')}) FROM STDIN (FORMAT binary)`
  const written = await copyChunks(tx.client, copy, chunks)
  return { written, outOfRange: tally.outOfRange }
}

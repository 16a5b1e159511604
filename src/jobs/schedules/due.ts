import { z } from 'zod'
import { isJobName, type JobName } from '../catalog.ts'

/**
 * The name of the little job a schedule makes. It only enqueues the real one, which is deduplicated: BullMQ does not
 * deduplicate scheduled jobs, so without this step a slow poll would run beside the next one.
 */
export const DUE = 'due'

const due = z.object({ name: z.string().refine(isJobName), payload: z.unknown() })

/** Enqueues what a schedule says is due; a job that still runs or waits is not doubled. */
export type Ring = (data: unknown) => Promise<void>

/** Makes the step from a schedule to its job. The returned function throws what enqueueing throws. */
export function makeRing(deps: {
  enqueue: (input: { name: JobName; payloads: readonly unknown[] }) => Promise<unknown>
}): Ring {
  return async (data) => {
    const { name, payload } = due.parse(data)
    await deps.enqueue({ name, payloads: [payload] })
  }
}

import { z } from 'zod'
import type { Random } from '../athlete/random.ts'

/** A planned failure (POST /_sandbox/faults); `path` is a regular expression on the path without query. */
export const faultSchema = z.strictObject({
  method: z.string().optional(),
  path: z
    .string()
    .refine((text) => compile(text) !== undefined, 'no regular expression')
    .optional(),
  kind: z.enum(['reset', 'status', 'cut', 'html', 'stall', 'empty', 'lost-answer', 'slow']),
  status: z.number().int().min(200).max(599).optional(),
  retry_after: z.union([z.string(), z.number()]).optional(),
  body: z.unknown().optional(),
  times: z.union([z.number().int().positive(), z.literal('always')]).default(1),
  probability: z.number().min(0).max(1).default(1),
  /** How long `slow` takes for the whole body, ms. */
  duration_ms: z.number().int().positive().default(2_000),
})

export type Fault = z.infer<typeof faultSchema> & { id: number; hits: number }

/** Finds the first planned failure for a request, and uses it up once. */
export function takeFault(
  faults: Fault[],
  request: { method: string; path: string },
  random: Random,
): Fault | undefined {
  for (const fault of faults) {
    if (fault.times !== 'always' && fault.hits >= fault.times) continue
    if (fault.method && fault.method.toUpperCase() !== request.method) continue
    if (fault.path && !compile(fault.path)?.test(request.path)) continue
    if (fault.probability < 1 && random() >= fault.probability) continue
    fault.hits++
    return fault
  }
  return undefined
}

function compile(text: string): RegExp | undefined {
  try {
    return new RegExp(text)
  } catch {
    return undefined
  }
}

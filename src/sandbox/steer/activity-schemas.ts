import { z } from 'zod'

const sampleFields = z.record(z.string(), z.union([z.number(), z.string(), z.null()]))

/** POST /_sandbox/activities. `started_at` is Unix seconds or ISO text; `late` is new now, but started 400 days ago. */
export const newActivitySchema = z.strictObject({
  rider: z.string().default('rider'),
  /** A path of the test's own makes the same ride each time. */
  path: z
    .string()
    .regex(/^[a-z0-9]{4,64}$/)
    .optional(),
  name: z.string().default('Added Ride'),
  description: z.string().nullable().default(null),
  started_at: z.union([z.number(), z.iso.datetime({ offset: true })]).optional(),
  seconds: z.number().int().positive().max(172_800).default(1_800),
  activity_type: z.string().default('Cycling'),
  kind: z.enum(['recovery', 'endurance', 'tempo', 'intervals', 'sprints', 'race']).default('endurance'),
  indoor: z.boolean().default(false),
  zone: z
    .strictObject({ style: z.union([z.literal(1), z.literal(2), z.literal(3)]), name: z.string() })
    .default({ style: 3, name: 'UTC' }),
  late: z.boolean().default(false),
  sample_delay_ms: z.number().int().nonnegative().default(0),
  summary: z.record(z.string(), z.unknown()).default({}),
  sample: sampleFields.default({}),
})

/** PATCH /_sandbox/activities/<path>. `summary` is laid over level by level; `{}` takes nothing back, `reset` does. */
export const patchActivitySchema = z.strictObject({
  name: z.string().optional(),
  description: z.string().nullable().optional(),
  activity_type: z.string().optional(),
  started_at: z.union([z.number(), z.iso.datetime({ offset: true })]).optional(),
  summary: z.record(z.string(), z.unknown()).optional(),
  sample: sampleFields.optional(),
  scale_power: z.number().positive().optional(),
  sample_delay_ms: z.number().int().nonnegative().optional(),
  broken: z.enum(['html', 'cut', '500', 'no-success', 'success-false']).nullable().optional(),
  reset: z.boolean().optional(),
})

export type ActivityPatch = z.infer<typeof patchActivitySchema>

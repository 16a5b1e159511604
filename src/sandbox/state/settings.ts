import { z } from 'zod'
import { DAY, SECOND } from '../../kit/time.ts'

/** What the sandbox can be told to do differently (PATCH /_sandbox/settings). Times in ms unless named otherwise. */
export const settingsSchema = z.strictObject({
  /** The list keeps only the newest this many; null for no cap. */
  list_cap: z.number().int().positive().nullable(),
  /** Start dates of the list in UTC, or in the rider's zone as in the detail. */
  list_dates: z.enum(['utc', 'rider']),
  /** How long after an upload the samples are ready. */
  sample_delay_ms: z.number().int().nonnegative(),
  /** The same bytes again: a second path that vanishes with the delay, a refusal, or the first path again. */
  duplicate_uploads: z.enum(['twin', 'refuse', 'same-path']),
  /** A used refresh token seen again ends the whole grant. */
  reuse_revokes_grant: z.boolean(),
  access_token_seconds: z.number().int().positive(),
  /** How long a refresh token lives. */
  refresh_token_seconds: z.number().int().positive(),
  /** Moves the Date header and every time of the service. */
  clock_skew_ms: z.number().int(),
  /** Waits before every answer. */
  latency_ms: z.number().int().nonnegative(),
  /** How long a request's body may take. */
  body_timeout_ms: z.number().int().positive(),
  /** Power and distance come as texts in every tenth sample. */
  number_texts: z.boolean(),
  /** Entries of the workout lists with the fields of the document, of published captures (no `last_modified`), or all. */
  workout_dialect: z.enum(['both', 'document', 'capture']),
  /** The workout of the day; `auto` follows the day of the week. */
  wotd_type: z.enum(['auto', 'None', 'Forecast', 'Scheduled']),
})

export type Settings = z.infer<typeof settingsSchema>

/** Two weeks are what the service's library gives by default. */
const REFRESH_TOKEN_SECONDS = (14 * DAY) / SECOND

/** Makes the settings a fresh sandbox has. */
export function makeSettings(input: { sampleDelayMs: number; accessTokenSeconds: number }): Settings {
  return {
    list_cap: null,
    list_dates: 'utc',
    sample_delay_ms: input.sampleDelayMs,
    duplicate_uploads: 'twin',
    reuse_revokes_grant: false,
    access_token_seconds: input.accessTokenSeconds,
    refresh_token_seconds: REFRESH_TOKEN_SECONDS,
    clock_skew_ms: 0,
    latency_ms: 0,
    body_timeout_ms: 30_000,
    number_texts: false,
    workout_dialect: 'both',
    wotd_type: 'auto',
  }
}

import { createHash } from 'node:crypto'
import { CATALOG, JOB_NAMES, type JobName, type ScheduleName } from '../catalog.ts'
import { keyOf } from '../handlers.ts'

/** A schedule as it should be: `offset` is its place within the interval; `everyMs` and `offset` in whole ms. */
export type WantedSchedule = Readonly<{
  id: string
  name: JobName
  payload: unknown
  everyMs: number
  offset: number
}>

/** Lists every schedule there should be: accounts times the catalog's scheduled jobs, and the ones for all. Pure. */
export function wantedSchedules(
  accountIds: readonly number[],
  every: Readonly<Record<ScheduleName, number>>,
): WantedSchedule[] {
  const intervals: Readonly<Record<string, number>> = every
  return JOB_NAMES.flatMap((name) => {
    const schedule = CATALOG[name].schedule
    const interval = schedule && intervals[schedule.every]
    if (!schedule || interval === undefined) return []
    const everyMs = Math.round(interval)
    const payloads = schedule.per === 'account' ? accountIds.map((accountId) => ({ accountId })) : [{}]
    return payloads.map((payload) => {
      const id = keyOf(name, payload)
      return { id, name, payload, everyMs, offset: phaseOf(id, everyMs) }
    })
  })
}

/**
 * The place of a schedule within its interval, in ms from 1 to `everyMs` - 1, by a hash of its id: a thousand accounts
 * are spread evenly and each keeps its place. Never 0, which BullMQ takes for "no place given: run at once".
 */
export function phaseOf(id: string, everyMs: number): number {
  const share = createHash('sha256').update(id).digest().readUInt32BE() / 2 ** 32
  return 1 + Math.floor(share * (everyMs - 1))
}

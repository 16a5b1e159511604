import type { WantedSchedule } from './wanted.ts'

/** A schedule as BullMQ has it: the next run as ms since 1970. */
export type FoundSchedule = Readonly<{
  everyMs: number | undefined
  offset: number | undefined
  nextAt: number | undefined
}>

/**
 * What is wrong with a schedule. `missing`: nobody made it, or the queue was emptied. `changed`: another interval.
 * `silent`: its next run lies further ahead than two intervals, as after a clock that jumped forward and back.
 * `overdue`: its run should long be over; either all workers are busy or its job was lost.
 */
export type Verdict = 'fine' | 'missing' | 'changed' | 'silent' | 'overdue'

/** Compares a schedule as it is with how it should be. Pure; `now` in ms since 1970. */
export function verdictOn(found: FoundSchedule | undefined, wanted: WantedSchedule, now: number): Verdict {
  if (!found) return 'missing'
  if (found.everyMs !== wanted.everyMs || found.offset !== wanted.offset) return 'changed'
  if (found.nextAt === undefined) return 'silent'
  if (found.nextAt > now + 2 * wanted.everyMs) return 'silent'
  if (found.nextAt < now - wanted.everyMs) return 'overdue'
  return 'fine'
}

import type { Answer } from '../../service/service.ts'
import type { WireWorkoutList } from '../../service/wire/workouts.ts'
import type { Account } from '../../store/accounts.ts'
import type { MirrorDeps } from '../account.ts'
import type { WorkoutFolder } from './folder/folder.ts'

/** What the use cases around training info and workouts need besides. */
export type CoachingDeps = MirrorDeps & {
  listDefaultWorkouts: (baseUrl: string, signal?: AbortSignal) => Promise<Answer<WireWorkoutList>>
  /** undefined: the workout of the day is kept in SQL only */
  folder: WorkoutFolder | undefined
}

export type CoachingInput = { account: Account; signal?: AbortSignal }

/** What was done: rows changed, answers fetched, and items that could not be used and are named in the log. */
export type CoachingCounts = { changed: number; fetched: number; failed: number }

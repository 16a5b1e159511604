import { createHash } from 'node:crypto'
import type { SavedWorkout } from '../../core/store/training/workout-sets.ts'
import { makeFileStem } from '../../kit/folders/file-name.ts'
import { formatWorkout } from './format-workout.ts'
import type { WorkoutFileFormat } from './workout-formats.ts'

/** A file to write, named `<stem>.<format>`, or `<stem> (2).<format>` where the first is not ours. */
export type WantedFile = { stem: string; format: string; content: string | Uint8Array; sha256: string }

/** The files to write, and for workouts that cannot be written the reasons and the names of older files. */
export type WorkoutFiles = { wanted: WantedFile[]; problems: string[]; kept: string[] }

/**
 * Makes the files of saved workouts, named after them; when several have one name, or `taken` has it, the path comes first, so that no name
 * depends on the order of the list.
 */
export function makeWorkoutFiles(
  workouts: readonly SavedWorkout[],
  input: { formats: readonly WorkoutFileFormat[]; taken?: readonly string[] },
): WorkoutFiles {
  const counts = new Map<string, number>()
  for (const stem of [...(input.taken ?? []), ...workouts.map(plainStemOf)])
    counts.set(foldName(stem), (counts.get(foldName(stem)) ?? 0) + 1)
  const files: WorkoutFiles = { wanted: [], problems: [], kept: [] }
  for (const workout of workouts) {
    const plain = plainStemOf(workout)
    const isOnly = counts.get(foldName(plain)) === 1
    const stem = isOnly ? plain : makeFileStem(`${workout.path} ${workout.name ?? ''}`, workout.path)
    for (const format of input.formats) {
      const formatted = formatWorkout(workout, format)
      if ('problem' in formatted) {
        files.problems.push(formatted.problem)
        files.kept.push(`${stem}.${format}`)
        continue
      }
      const sha256 = createHash('sha256').update(formatted.content).digest('hex')
      files.wanted.push({ stem, format, content: formatted.content, sha256 })
    }
  }
  return { ...files, problems: [...new Set(files.problems)] }
}

/** Returns a name as file systems that ignore case compare it. */
export function foldName(name: string): string {
  return name.normalize('NFC').toLowerCase()
}

function plainStemOf({ name, path }: SavedWorkout): string {
  return makeFileStem(name, path)
}

import { createHash } from 'node:crypto'
import { makeRandom } from '../athlete/random.ts'
import { type DesignedInterval, resolveSets, type Workout } from '../athlete/workout-designs.ts'
import type { RiderAnswer } from '../http/http-server.ts'
import { json, type Reply, refuse } from '../http/reply.ts'
import { riderSignature } from '../rider.ts'
import { findWorkout, type World } from '../world.ts'

/** Answers GET /oauth/workout, the default list, which needs no token. */
export function answerDefaultWorkouts(world: World): Reply {
  return json(200, { success: true, workouts: writeList(world, world.defaultWorkouts) })
}

/** Answers GET /oauth/workouts, the rider's own list. */
export const answerOwnWorkouts: RiderAnswer = ({ world, rider }) =>
  json(200, { success: true, workouts: writeList(world, rider.workouts) })

/** Answers GET /oauth/workout/<path>: any rider's workout, resolved for the rider of the token. */
export const answerWorkout: RiderAnswer = ({ world, rider }, _request, params) => {
  const workout = findWorkout(world, params.path ?? '')
  if (!workout) return refuse(404, 'no such workout')
  const sets = resolveSets(workout, riderSignature(rider, world.now().getTime()))
  const { name, description } = workout
  return json(200, { success: true, name, description, workout: sets })
}

function writeList(world: World, workouts: Workout[]) {
  const dialect = world.settings.workout_dialect
  return workouts
    .filter((workout) => !workout.deleted)
    .map((workout) => ({
      path: workout.path,
      name: workout.name,
      description: workout.description,
      ...(dialect === 'capture' ? {} : { last_modified: Math.floor(workout.modifiedMs / 1_000) }),
      ...(dialect === 'document' ? {} : capturedFields(workout)),
    }))
}

/** Makes the fields of published list entries that the service document does not define: times and numbers as strings, and many fields for display. */
function capturedFields(workout: Workout) {
  const { path, difficulty, intervals } = workout
  const random = makeRandom(path, 'entry')
  const seconds = intervals.reduce(
    (sum, { seconds: work, count = 1, rest }) => sum + count * (work + (rest?.seconds ?? 0)),
    0,
  )
  const xss = (seconds / 3_600) * difficulty * (0.7 + random() / 10)
  const updated = new Date(workout.modifiedMs).toISOString().slice(0, 19).replace('T', ' ')
  return {
    _id: createHash('sha256').update(path).digest('hex').slice(0, 24),
    sets: intervals.map(capturedSet),
    workout: null,
    duration: clockText(seconds),
    difficulty: difficulty * (1 + random() / 1_000),
    ...{ xss, xlss: 0.9 * xss, xhss: 0.08 * xss, xpss: 0.02 * xss },
    focus: 'Endurance',
    adu: Math.floor(random() * 3),
    advisorScore: 100 * random(),
    rating: 'Moderate',
    diamondRating: 1 + random(),
    ...{ favourite: false, recommended: random() < 0.5, selected: false, playable: true, trial: false },
    ...{ coach: 'Sandbox', owner: 'sandbox', authorId: 'sandbox', sharedPath: null },
    url: `https://images.example.com/workouts/${path}`,
    thumb: `https://images.example.com/workouts/${path}.png`,
    valid_thumbnail: true,
    created_at: updated,
    updated_at: updated,
  }
}

function capturedSet(interval: DesignedInterval, index: number) {
  const { name, target, seconds, count = 1, rest } = interval
  return {
    DT_RowId: `row_${index}`,
    sequence: String(index + 1),
    name,
    power: { type: `relative_${target.of}`, value: 100 * target.share },
    duration: { type: 'absolute', value: clockText(seconds).slice(3) },
    rib_power: { type: 'relative_ftp', value: 100 * (rest?.share ?? 0) },
    rib_duration: { type: 'absolute', value: clockText(rest?.seconds ?? 0).slice(3) },
    interval_count: String(count),
  }
}

function clockText(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().slice(11, 19)
}

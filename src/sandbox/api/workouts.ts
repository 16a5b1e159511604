import { json, type Reply, refuse } from '../http/reply.ts'
import type { Request } from '../http/request.ts'
import type { Params } from '../http/router.ts'
import { type Rider, riderSignature } from '../state/rider.ts'
import { findWorkout, type World } from '../state/world.ts'
import type { Workout } from '../workouts/designs.ts'
import { resolveSets, type WorkoutSet } from '../workouts/sets.ts'

/** Answers GET /oauth/workout, the default list; it needs no token. */
export function answerDefaultWorkouts(world: World): Reply {
  return json(200, { success: true, workouts: writeList(world, world.defaultWorkouts) })
}

/** Answers GET /oauth/workouts, the rider's own list. */
export function answerOwnWorkouts(deps: { world: World; rider: Rider }): Reply {
  return json(200, { success: true, workouts: writeList(deps.world, deps.rider.workouts) })
}

/** Answers GET /oauth/workout/<path>, anybody's workout, resolved for the rider who asks. */
export function answerWorkout(
  deps: { world: World; rider: Rider },
  _request: Request,
  params: Params,
): Reply {
  const { world, rider } = deps
  const workout = findWorkout(world, params.path ?? '')
  if (!workout) return refuse(404, 'no such workout')
  const sets = resolveSets(workout, riderSignature(rider, world.now().getTime()))
  const captured = world.settings.workout_dialect === 'capture'
  return json(200, {
    success: true,
    name: workout.name,
    description: workout.description,
    workout: captured ? sets.map(asCaptured) : sets,
  })
}

function writeList(world: World, workouts: Workout[]) {
  const captured = world.settings.workout_dialect === 'capture'
  return workouts
    .filter((workout) => !workout.deleted)
    .map((workout) => (captured ? capturedEntry(workout) : documentEntry(workout)))
}

function documentEntry(workout: Workout) {
  return {
    path: workout.path,
    name: workout.name,
    description: workout.description,
    last_modified: Math.floor(workout.modifiedMs / 1_000),
  }
}

/** A published list has `updated_at` in place of `last_modified`, a clock text for the duration, and more. */
function capturedEntry(workout: Workout) {
  const seconds = workout.intervals.reduce(
    (sum, { seconds: work, count = 1, rest }) => sum + count * (work + (rest?.seconds ?? 0)),
    0,
  )
  return {
    path: workout.path,
    name: workout.name,
    description: workout.description,
    updated_at: new Date(workout.modifiedMs).toISOString().slice(0, 19).replace('T', ' '),
    duration: new Date(seconds * 1_000).toISOString().slice(11, 19),
    difficulty: String(workout.difficulty),
    interval_count: String(workout.intervals.length),
    public: 0,
  }
}

function asCaptured(set: WorkoutSet) {
  return { ...set, interval_count: String(set.interval_count) }
}

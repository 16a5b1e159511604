/** What a designed interval aims at: a share of Threshold, Lower Threshold or Peak Power, or a fall of what is available. */
export type Target =
  | { of: 'ftp' | 'ltp' | 'pp'; share: number }
  | { of: 'mpa'; share: number; downTo: number }

/** One interval of the workout designer; `rest` is a share of Threshold Power. */
export type DesignedInterval = {
  name: string
  target: Target
  seconds: number
  count?: number
  rest?: { share: number; seconds: number }
}

export type Workout = {
  path: string
  name: string | null
  description: string
  /** Milliseconds since 1970. */
  modifiedMs: number
  intervals: DesignedInterval[]
  difficulty: number
  deleted: boolean
}

type Design = Pick<Workout, 'path' | 'name' | 'description' | 'difficulty' | 'intervals'>

const warmUp: DesignedInterval = { name: 'Warmup', target: { of: 'ltp', share: 0.7 }, seconds: 600 }
const coolDown: DesignedInterval = { name: 'Cooldown', target: { of: 'ltp', share: 0.55 }, seconds: 300 }

function intervals(target: Target, seconds: number, count: number, rest: [share: number, seconds: number]) {
  const block = { name: 'Intervals', target, seconds, count, rest: { share: rest[0], seconds: rest[1] } }
  return [warmUp, block, coolDown]
}

const DEFAULTS: readonly Design[] = [
  {
    path: 'df0easyspin00001',
    name: 'Easy Spin',
    description: '',
    difficulty: 18,
    intervals: [warmUp, { name: 'Steady', target: { of: 'ltp', share: 0.8 }, seconds: 1_800 }, coolDown],
  },
  {
    path: 'df0threshold0002',
    name: 'Threshold 3×10',
    description: 'Three times ten minutes.\r\nStay seated.',
    difficulty: 74,
    intervals: intervals({ of: 'ftp', share: 0.98 }, 600, 3, [0.5, 300]),
  },
  {
    path: 'df0mpafade000003',
    name: 'MPA Fade',
    description: 'Each effort lasts until what is available has fallen.',
    difficulty: 112.5,
    intervals: intervals({ of: 'mpa', share: 1.2, downTo: 0.8 }, 240, 6, [0.45, 150]),
  },
  {
    path: 'df0peaksprint004',
    name: 'Peak Sprints',
    description: 'All out, then rest.',
    difficulty: 66,
    intervals: intervals({ of: 'pp', share: 0.9 }, 10, 8, [0.4, 230]),
  },
]

const OWN: readonly Design[] = [
  {
    path: 'own0tempo0000001',
    name: 'Lunch Tempo',
    description: 'Deux blocs, sans s’arrêter — ça tient dans la pause.',
    difficulty: 58,
    intervals: intervals({ of: 'ftp', share: 0.88 }, 900, 2, [0.55, 240]),
  },
  {
    path: 'own0vo2max000002',
    name: '30/15 "hard" & short <3',
    description: '',
    difficulty: 96,
    intervals: intervals({ of: 'mpa', share: 1.25, downTo: 0.82 }, 180, 5, [0.5, 120]),
  },
  {
    path: 'own0untitled0003',
    name: null,
    description: '',
    difficulty: 41,
    intervals: [warmUp, { name: 'Steady', target: { of: 'ftp', share: 0.71 }, seconds: 1_200 }, coolDown],
  },
]

/** The workouts everybody sees. */
export function makeDefaultWorkouts(todayMs: number): Workout[] {
  return DEFAULTS.map((design, i) => asOf(design, todayMs - (400 + i) * 86_400_000))
}

/** The workouts a rider made. */
export function makeOwnWorkouts(rider: { username: string; todayMs: number }): Workout[] {
  const prefix = rider.username === 'rider' ? 'own' : `o${rider.username.slice(0, 2)}`
  return OWN.map((design, i) => {
    const path = design.path.replace('own', prefix)
    return { ...asOf(design, rider.todayMs - (30 + i) * 86_400_000), path }
  })
}

function asOf(design: Design, modifiedMs: number): Workout {
  return { ...design, modifiedMs, deleted: false }
}

import { DAY, HOUR, MINUTE } from '../../kit/time.ts'
import type { RideKind } from './efforts.ts'
import type { Load } from './loads.ts'
import { drawDescription, drawName } from './names.ts'
import { drawBell, drawBetween, drawOne, makeRandom, makeWord, type Random } from './random.ts'
import type { ZoneStyle } from './start-date.ts'

/** One activity of the past, before it is ridden. */
export type PlannedActivity = {
  path: string
  seed: string
  startMs: number
  seconds: number
  kind: RideKind
  running: boolean
  indoor: boolean
  activityType: string
  zone: { style: ZoneStyle; name: string }
  name: string
  description: string | null
}

/** About three years, ending with yesterday. */
const HISTORY_MS = 3 * 365 * DAY

const ZONES: ReadonlyArray<readonly [PlannedActivity['zone'], number]> = [
  [{ style: 3, name: 'America/Toronto' }, 60],
  [{ style: 3, name: 'UTC' }, 8],
  [{ style: 2, name: 'America/Toronto' }, 14],
  [{ style: 1, name: 'Europe/Paris' }, 12],
  [{ style: 1, name: 'America/St_Johns' }, 6],
]

/**
 * Plans `count` activities spread over three years up to the day before `todayMs` (midnight UTC), oldest first: long
 * rides on weekends, hard ones on Tuesdays and Thursdays, some runs. The same seed and day give the same plan.
 */
export function planHistory(input: { seed: number; count: number; todayMs: number }): PlannedActivity[] {
  const { seed, count, todayMs } = input
  const slot = HISTORY_MS / Math.max(1, count)
  const random = makeRandom(seed, 'history')
  return Array.from({ length: count }, (_, index) => {
    const slotEnd = todayMs - (count - 1 - index) * slot
    const last = index === count - 1
    const room = last ? Math.min(slot, DAY) : slot
    return planOne({ seed: `${seed}/${index}`, from: slotEnd - room, room }, random)
  })
}

/** The load an activity is expected to bring; the samples say it exactly. */
export function expectedLoad(activity: { kind: RideKind; seconds: number }): Load {
  const [intensity, high, peak] = EXPECTED[activity.kind]
  const total = (activity.seconds / 3_600) * 100 * intensity * intensity
  return { low: total * (1 - high - peak), high: total * high, peak: total * peak }
}

const EXPECTED: Readonly<Record<RideKind, readonly [intensity: number, high: number, peak: number]>> = {
  recovery: [0.5, 0, 0],
  endurance: [0.67, 0, 0],
  tempo: [0.75, 0.005, 0],
  intervals: [0.85, 0.07, 0.005],
  sprints: [0.72, 0.06, 0.03],
  race: [0.95, 0.09, 0.015],
}

function planOne(place: { seed: string; from: number; room: number }, random: Random): PlannedActivity {
  const dayStart = drawDay(place, random)
  const weekday = new Date(dayStart).getUTCDay()
  const weekend = weekday === 0 || weekday === 6
  const running = random() < 0.12
  const kind = drawKind(weekday, random)
  const minutes = Math.exp(Math.log(weekend ? 66 : 46) + 0.42 * drawBell(random))
  const seconds = Math.round(Math.min(180, Math.max(20, running ? 0.7 * minutes : minutes)) * 60)
  const indoor = !running && random() < 0.3
  const hour = place.room < DAY ? 0 : drawBetween(random, weekend ? 12 : 10, weekend ? 15 : 21)
  const startMs = Math.round((dayStart + hour * HOUR) / 1_000) * 1_000
  return {
    path: makeWord(makeRandom(place.seed, 'path'), 16),
    seed: place.seed,
    startMs,
    seconds,
    kind,
    running,
    indoor,
    activityType: running ? 'Running' : drawType(indoor, random),
    zone: drawOne(random, ZONES),
    name: drawName(random, kind, startMs),
    description: drawDescription(random),
  }
}

/** A day of the slot, weekends likelier; slots shorter than a day keep to their own hours. */
function drawDay(place: { from: number; room: number }, random: Random): number {
  if (place.room < DAY) return place.from + random() * Math.max(0, place.room - 3 * HOUR)
  const days = Math.max(1, Math.floor(place.room / DAY))
  const firstDay = Math.ceil((place.from - MINUTE) / DAY) * DAY
  const choices = Array.from({ length: days }, (_, i) => {
    const weekday = new Date(firstDay + i * DAY).getUTCDay()
    return [firstDay + i * DAY, [3, 0.4, 2, 1, 2, 0.5, 4][weekday] as number] as const
  })
  return drawOne(random, choices)
}

function drawKind(weekday: number, random: Random): RideKind {
  if (weekday === 2 || weekday === 4) {
    return drawOne<RideKind>(random, [
      ['intervals', 4],
      ['tempo', 3],
      ['sprints', 2],
      ['race', 1],
    ])
  }
  return drawOne<RideKind>(random, [
    ['endurance', 6],
    ['recovery', 2],
    ['tempo', 2],
    ['race', 1],
  ])
}

function drawType(indoor: boolean, random: Random): string {
  if (indoor) return 'Virtual Cycling'
  return random() < 0.1 ? 'Mountain Biking' : 'Cycling'
}

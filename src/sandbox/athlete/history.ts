import { IANAZone } from 'luxon'
import { ConfigError } from '../../kit/errors.ts'
import { DAY, HOUR, MINUTE } from '../../kit/time.ts'
import { drawBell, drawBetween, drawEven, drawOne, makeRandom, makeWord, type Random } from './random.ts'
import { drawKindName, type RideKind } from './ride-kinds.ts'

/** A time zone and its style in the service: 1 = offset from UTC, 2 = abbreviation, 3 = zone name. */
export type Zone = { style: 1 | 2 | 3; name: string }

/** A past activity before its samples are simulated. */
export type PlannedActivity = ReturnType<typeof planOne>

/** The length of the history, ms: about three years, ending yesterday. */
const HISTORY_MS = 3 * 365 * DAY

/** A rider's home: outdoor activities begin near it (degrees), and all activities begin at usual hours of its time zone. */
export type Home = Readonly<{ zone: string; lat: number; lng: number }>

const TORONTO: Home = { zone: 'America/Toronto', lat: 43.6532, lng: -79.3832 }

const HOMES: readonly Home[] = [
  TORONTO,
  { zone: 'Pacific/Auckland', lat: -36.8728, lng: 174.7645 },
  { zone: 'America/Los_Angeles', lat: 37.7599, lng: -122.4376 },
  { zone: 'Asia/Kathmandu', lat: 27.7172, lng: 85.324 },
  { zone: 'Australia/Lord_Howe', lat: -31.5362, lng: 159.0745 },
  { zone: 'Europe/London', lat: 51.5072, lng: -0.1276 },
  { zone: 'Europe/Berlin', lat: 52.52, lng: 13.405 },
]

/** Returns the home in a time zone, by default the home in Toronto. Throws ConfigError `sandbox_home` if no home has this zone. */
export function homeIn(zone = TORONTO.zone): Home {
  const home = HOMES.find((each) => each.zone === zone)
  if (home) return home
  const zones = HOMES.map((each) => each.zone).join(', ')
  throw new ConfigError('sandbox_home', `the sandbox has no home in "${zone}"; choose one of ${zones}`)
}

/** The zone of an activity as the service writes it if it is set to send zones, with weights. */
const ZONES: ReadonlyArray<readonly [Zone, number]> = [
  [{ style: 3, name: TORONTO.zone }, 60],
  [{ style: 3, name: 'UTC' }, 8],
  [{ style: 2, name: TORONTO.zone }, 14],
  [{ style: 1, name: 'Europe/Paris' }, 12],
  [{ style: 1, name: 'America/St_Johns' }, 6],
]

/**
 * Plans `count` activities over three years up to the day before `todayMs` (midnight UTC), oldest first: long rides at weekends, hard rides on
 * Tuesdays and Thursdays, some runs. No activity is longer than `longestActivitySeconds`. The same seed, day and home give the same plan.
 */
export function planHistory(input: {
  seed: number
  count: number
  longestActivitySeconds: number
  todayMs: number
  home: Home
}): PlannedActivity[] {
  const { seed, count, longestActivitySeconds, todayMs, home } = input
  const slot = HISTORY_MS / Math.max(1, count)
  const random = makeRandom(seed, 'history')
  return Array.from({ length: count }, (_, index) => {
    const slotEnd = todayMs - (count - 1 - index) * slot
    const last = index === count - 1
    const room = last ? Math.min(slot, DAY) : slot
    const plan = planOne({ seed: `${seed}/${index}`, from: slotEnd - room, room }, random)
    return { ...plan, ...moveHome(plan, home), seconds: Math.min(plan.seconds, longestActivitySeconds) }
  })
}

/** Moves an activity from Toronto to the same hours of another home, never into the future. */
function moveHome({ startMs, zone }: PlannedActivity, home: Home): Pick<PlannedActivity, 'startMs' | 'zone'> {
  const offsetOf = (name: string) => IANAZone.create(name).offset(startMs) * MINUTE
  const later = offsetOf(TORONTO.zone) - offsetOf(home.zone)
  return {
    startMs: startMs + (later > 0 ? later - DAY : later),
    zone: zone.name === TORONTO.zone ? { ...zone, name: home.zone } : zone,
  }
}

function planOne(place: { seed: string; from: number; room: number }, random: Random) {
  const dayStart = drawDay(place, random)
  const weekday = new Date(dayStart).getUTCDay()
  const weekend = weekday === 0 || weekday === 6
  const running = random() < 0.12
  const kind = drawOne(random, weekday === 2 || weekday === 4 ? HARD_KINDS : EASY_KINDS)
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
    // Usually words with accents and punctuation; one in fifteen is all digits, as head units name files.
    name: random() < 0.07 ? String(Math.floor(startMs / 1_000)) : drawKindName(random, kind),
    // Six in ten are null, as in published lists.
    description: random() < 0.6 ? null : drawEven(random, DESCRIPTIONS),
  }
}

/** Draws a day of the slot, with a higher chance for weekends; in a slot shorter than a day, draws a time. */
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

/** Weights of the kinds: hard rides on Tuesdays and Thursdays, easier rides on other days. */
const HARD_KINDS: ReadonlyArray<readonly [RideKind, number]> = [
  ['intervals', 4],
  ['tempo', 3],
  ['sprints', 2],
  ['race', 1],
]
const EASY_KINDS: ReadonlyArray<readonly [RideKind, number]> = [
  ['endurance', 6],
  ['recovery', 2],
  ['tempo', 2],
  ['race', 1],
]

function drawType(indoor: boolean, random: Random): string {
  if (indoor) return 'Virtual Cycling'
  return random() < 0.1 ? 'Mountain Biking' : 'Cycling'
}

const DESCRIPTIONS = [
  '',
  'Felt good.',
  'Headwind out, tailwind home.\r\nLegs were there.',
  'Ça piquait — très froid 🥶',
  'x < y & "z"',
]

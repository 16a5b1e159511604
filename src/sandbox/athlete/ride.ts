import { availablePower, makeReserve, type Signature, spendReserve } from './fitness-model.ts'
import type { Home, PlannedActivity } from './history.ts'
import { drawBell, drawBetween, makeRandom, type Random } from './random.ts'
import { type Effort, planEfforts } from './ride-kinds.ts'

/** The plan of a ride; the same plan always gives the same track. */
export type Ride = Pick<PlannedActivity, 'startMs' | 'seconds' | 'kind' | 'running' | 'indoor'> & {
  seed: number | string
  signature: Signature
  home: Home
  /** whether the ride reaches the rider's limit, so it proves a new signature */
  breakthrough: boolean
}

const METRES_PER_DEGREE = 111_320

/** Simulates a ride second by second: power within the available power, and everything that follows from the power by physics. */
export function simulateTrack(ride: Ride): Track {
  const random = makeRandom(ride.seed, 'track')
  const track = makeTrack(ride.seconds)
  const targeted = ride.indoor && !ride.running && random() < 0.7
  rideEfforts(ride, planEfforts({ ...ride, targeted }, random), track, random)
  fillTimes(ride, track)
  fillRoad(ride, track)
  return track
}

/** Sets power, cadence, heart rate and target. */
function rideEfforts(ride: Ride, efforts: Effort[], track: Track, random: Random): void {
  const { signature } = ride
  const reserve = makeReserve(signature)
  let second = 0
  let noise = 0
  let pulse = 92
  let coasting = 0
  let cadenceLost = 0
  for (const effort of efforts) {
    for (let end = second + effort.seconds; second < end; second++) {
      noise = 0.85 * noise + 0.15 * drawBell(random)
      if (coasting > 0) coasting--
      else if (!ride.indoor && effort.watts < signature.ftp && random() < 0.006) {
        coasting = Math.round(drawBetween(random, 2, 14))
      }
      const wanted = coasting > 0 ? 0 : effort.watts * (1 + noise * (ride.indoor ? 0.12 : 0.3))
      const limit = availablePower(reserve, signature) * (ride.breakthrough ? 1.03 : 0.98)
      const watts = Math.max(0, Math.round(Math.min(wanted, limit)))
      spendReserve(reserve, signature, watts)
      pulse += (78 + 98 * Math.min(1.12, watts / signature.ftp) - pulse) * 0.018
      if (cadenceLost > 0) cadenceLost--
      else if (random() < 0.0004) cadenceLost = Math.round(drawBetween(random, 5, 40))
      track.power[second] = watts
      track.hr[second] = Math.round(pulse)
      if (cadenceLost === 0)
        track.cad[second] = watts === 0 ? 0 : Math.round((ride.running ? 84 : 87) + 4 * noise)
      if (effort.targeted) track.tgt[second] = Math.round(effort.watts)
    }
  }
}

/** Sets times one second apart; one in five outdoor rides has a few recording pauses and single lost seconds. */
function fillTimes(ride: Ride, track: Track): void {
  const random = makeRandom(ride.seed, 'pauses')
  const pauses = new Map<number, number>()
  if (!ride.indoor && random() < 0.2) {
    const place = () => Math.floor(drawBetween(random, 0.1, 0.9) * ride.seconds)
    for (let i = 0; i < 3; i++) pauses.set(place(), Math.round(drawBetween(random, 20, 400)))
    for (let i = 0; i < 4; i++) pauses.set(place(), 1)
  }
  let lost = 0
  for (let i = 0; i < ride.seconds; i++) {
    if (i > 0) lost += pauses.get(i) ?? 0
    track.unixMs[i] = ride.startMs + (i + lost) * 1_000
  }
}

/** Sets speed, distance, height and, outdoors, positions on the loop that the rider can finish in time. */
function fillRoad(ride: Ride, track: Track): void {
  let road = LEVEL
  let metres = moveAlong(road, ride, track)
  track.alt.fill(0)
  if (ride.indoor) return
  for (let guess = 0; guess < 2; guess++) {
    road = makeRoad(ride.home, metres)
    metres = moveAlong(road, ride, track)
  }
  const goal = road.lengthM * Math.max(1, Math.round(metres / road.lengthM))
  let [easy, hard]: readonly number[] = NEEDS
  for (let pass = 0; pass < 11; pass++) {
    const need = Math.sqrt(easy * hard)
    if (moveAlong(road, ride, track, need) > goal) easy = need
    else hard = need
  }
  const random = makeRandom(ride.seed, 'place')
  let [north, east] = [4 * drawBell(random), 4 * drawBell(random)]
  for (let i = 0; i < ride.seconds; i++) {
    const [metres, step] = [at(track.dist, i), at(track.spd, i)]
    const place = sectionAt(road, metres)
    track.alt[i] = (road.heights[place] as number) + (road.slopes[place] as number) * (metres % road.sectionM)
    const heading = road.headings[sectionAt(road, metres - step / 2)] as number
    north += step * Math.cos(heading)
    east += step * Math.sin(heading)
    track.lat[i] = ride.home.lat + north / METRES_PER_DEGREE
    track.lng[i] = ride.home.lng + east / METRES_PER_DEGREE / Math.cos((ride.home.lat * Math.PI) / 180)
  }
}

/** Draws the wind of a ride: its speed, m/s, and the direction that it comes from, radians from north. */
export function drawWind({ seed, indoor }: Pick<Ride, 'seed' | 'indoor'>) {
  const random = makeRandom(seed, 'wind')
  return { speed: indoor ? 0 : drawBetween(random, 0, 4), from: random() * 2 * Math.PI }
}

/** The mass of the rider, kg; the bicycle adds 10 kg. */
const RIDER_KG = 72
const KG = RIDER_KG + 10
/** The share of the power that the chain transmits; the rolling resistance as a share of the weight; half the density of air times drag area, kg/m. */
const CHAIN = 0.975
const ROLLING = 0.005
const DRAG = 0.6 * 0.32
/** A runner's energy per kg and metre, J, and the energy that a slope adds. */
const STRIDE = 0.8
const CLIMBING = 4
/** The range in which position, tyres and clothes can multiply rolling resistance, drag and strides. */
const NEEDS = [0.6, 1.65] as const
/** The lowest speed, m/s: no rider stands still. */
const MIN_SPEED = 0.6

/**
 * Sets speed and distance along a road, and returns the metres. A cyclist's power that is not used for rolling, air and slope becomes
 * kinetic energy; a runner's pace follows the power.
 */
function moveAlong(road: Road, ride: Ride, track: Track, need = 1): number {
  const wind = drawWind(ride)
  const against = road.headings.map((heading) => wind.speed * Math.cos(heading - wind.from))
  let [speed, metres] = [2, 0]
  for (let i = 0; i < ride.seconds; i++) {
    const watts = at(track.power, i)
    const place = sectionAt(road, metres)
    const slope = road.slopes[place] as number
    if (ride.running) {
      speed += (watts / (RIDER_KG * STRIDE * need * (1 + CLIMBING * slope)) - speed) * 0.06
    } else {
      const air = speed + (against[place] as number)
      const force = KG * 9.81 * (slope + ROLLING * need) + DRAG * need * air * Math.abs(air)
      speed = Math.sqrt(Math.max(MIN_SPEED ** 2, speed ** 2 + (2 * (CHAIN * watts - force * speed)) / KG))
    }
    metres += speed
    track.spd[i] = speed
    track.dist[i] = metres
  }
  return metres
}

function sectionAt({ sectionM, slopes }: Road, metres: number): number {
  return Math.floor(metres / sectionM) % slopes.length
}

const COLUMNS = ['unixMs', 'power', 'cad', 'hr', 'alt', 'spd', 'lat', 'lng', 'dist', 'tgt'] as const

/**
 * The recording of a bike computer, one place for each second of riding; NaN without a value. `unixMs` jumps where the recording paused.
 * Units: W, rpm, bpm, metres above sea level, m/s, degrees, metres since the start, and the W of a trainer workout.
 */
export type Track = Record<(typeof COLUMNS)[number], Float64Array>

/** Makes an empty track of `length` places, all NaN. */
export function makeTrack(length: number): Track {
  const columns = COLUMNS.map((name) => [name, new Float64Array(length).fill(Number.NaN)])
  return Object.fromEntries(columns) as Track
}

export function at(column: Float64Array, place: number): number {
  return column[place] as number
}

/** A loop that begins and ends at home, in sections of equal length: slope as a share, direction in radians from north, and height where each section begins. */
type Road = {
  lengthM: number
  sectionM: number
  slopes: number[]
  headings: number[]
  heights: number[]
}

const FAR = Number.POSITIVE_INFINITY
/** The road of an indoor trainer. */
const LEVEL: Road = { lengthM: FAR, sectionM: FAR, slopes: [0], headings: [0], heights: [0] }

/** Each loop of a home is an eighth longer than the loop before, so that every ride fits a loop. Long rides repeat the loop. */
const GROWTH = 1.125
const MIN_LOOP_M = 600
const MAX_LOOP_M = 110_000
const SECTION_M = 20
/** Waves whose sum is the slope, or the angle in radians, by length in metres. */
const HILLS = { 12000: 0.027, 6000: 0.027, 2900: 0.022, 1300: 0.012 }
const BENDS = { 30000: 0.7, 9000: 0.6, 3500: 0.5, 1400: 0.5, 600: 0.35 }

/** Makes the loop of a home whose length is nearest to a ride of `metres`; the loop is the same on every day. */
function makeRoad(home: Home, metres: number): Road {
  const wanted = Math.max(MIN_LOOP_M, metres / Math.ceil(metres / MAX_LOOP_M))
  const number = Math.round(Math.log(wanted) / Math.log(GROWTH))
  const lengthM = GROWTH ** number
  const sections = 2 * Math.round(lengthM / SECTION_M / 2)
  const sectionM = lengthM / sections
  const random = makeRandom('road', home.zone, number)
  // Whole waves end where they began. A line of two equal halves, with the second half turned round, returns home, so the number of bends is even.
  const addWaves = (waves: object, like: 1 | 2) => {
    const drawn = Object.entries(waves).map(([waveM, size], index, { length }) => ({
      size: size * drawBetween(random, 0.6, 1),
      times: like * Math.max(length - index, Math.round(lengthM / Number(waveM) / like)),
      phase: random() * 2 * Math.PI,
    }))
    return Array.from({ length: sections }, (_, section) => {
      const turn = (2 * Math.PI * (section + 0.5)) / sections
      return drawn.reduce((sum, { size, times, phase }) => sum + size * Math.sin(times * turn + phase), 0)
    })
  }
  const country = makeRandom('country', home.zone)
  const hilly = drawBetween(country, 0.5, 0.9)
  const slopes = addWaves(HILLS, 1).map((slope) => hilly * slope)
  const headings = addWaves(BENDS, 2).map((bend, section) => bend + (2 * Math.PI * section) / sections)
  const heights = [drawBetween(country, 180, 400)]
  for (const slope of slopes) heights.push((heights.at(-1) as number) + slope * sectionM)
  return { lengthM, sectionM, slopes, headings, heights }
}

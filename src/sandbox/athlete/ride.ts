import { availablePower, makeReserve, type Signature, spendReserve } from './fitness-model.ts'
import type { Home, PlannedActivity } from './history.ts'
import { drawBell, drawBetween, makeRandom, type Random } from './random.ts'
import { type Effort, planEfforts } from './ride-kinds.ts'

/** The plan of a ride; the same plan always gives the same track. */
export type Ride = Pick<PlannedActivity, 'startMs' | 'seconds' | 'kind' | 'running' | 'indoor'> & {
  seed: number | string
  signature: Signature
  home: Home
  /** Whether the ride reaches the limit and so proves a new signature. */
  breakthrough: boolean
}

const METRES_PER_DEGREE = 111_320

/** Simulates a ride second by second: power within the available power, and the values that follow from it. */
export function simulateTrack(ride: Ride): Track {
  const random = makeRandom(ride.seed, 'track')
  const track = makeTrack(ride.seconds)
  const targeted = ride.indoor && !ride.running && random() < 0.7
  rideEfforts(ride, planEfforts({ ...ride, targeted }, random), track, random)
  fillTimes(ride, track)
  if (!ride.indoor) fillRoad(ride, track, random)
  return track
}

/** Sets power, cadence, heart rate, target and a first guess of the speed. */
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
      track.spd[second] = ride.running
        ? 1.4 + (2.1 * watts) / signature.ftp
        : 11.2 * Math.cbrt(watts / signature.ftp)
    }
  }
  settleSpeed(track)
}

/** Makes the speed follow the power slowly, and the distance from it. */
function settleSpeed(track: Track): void {
  let speed = 2
  let metres = 0
  for (let i = 0; i < track.spd.length; i++) {
    speed += ((track.spd[i] as number) - speed) * 0.06
    metres += speed
    track.spd[i] = speed
    track.dist[i] = metres
    track.alt[i] = 0
  }
}

/** Sets times one second apart; one outdoor ride in five has a few pauses of recording and single lost seconds. */
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

/** Sets hills and a loop on the map. */
function fillRoad(ride: Ride, track: Track, random: Random): void {
  const base = drawBetween(random, 60, 240)
  const hill = drawBetween(random, 8, 60)
  const wave = drawBetween(random, 1_800, 5_200)
  const phase = random() * 6
  const turn = random() < 0.5 ? -1 : 1
  let heading = random() * 2 * Math.PI
  let lat = ride.home.lat + drawBell(random) * 0.02
  let lng = ride.home.lng + drawBell(random) * 0.02
  for (let i = 0; i < ride.seconds; i++) {
    const metres = track.dist[i] as number
    const speed = track.spd[i] as number
    track.alt[i] =
      base + hill * Math.sin(metres / wave + phase) + (hill / 6) * Math.sin((metres * 5.3) / wave)
    heading += (turn * 2 * Math.PI) / ride.seconds + Math.sin(metres / 310 + phase) * 0.02
    lat += (speed * Math.cos(heading)) / METRES_PER_DEGREE
    lng += (speed * Math.sin(heading)) / (METRES_PER_DEGREE * Math.cos((lat * Math.PI) / 180))
    track.lat[i] = lat
    track.lng[i] = lng
  }
}

const COLUMNS = ['unixMs', 'power', 'cad', 'hr', 'alt', 'spd', 'lat', 'lng', 'dist', 'tgt'] as const

/**
 * The recording of a bike computer, one place for each second of riding; NaN without a value. `unixMs` jumps where recording paused. Units:
 * W, turns and beats a minute, metres above the sea, m/s, degrees, metres since the start, and the W of a trainer workout.
 */
export type Track = Record<(typeof COLUMNS)[number], Float64Array>

/** Makes an empty track of `length` places, all NaN. */
export function makeTrack(length: number): Track {
  const columns = COLUMNS.map((name) => [name, new Float64Array(length).fill(Number.NaN)])
  return Object.fromEntries(columns) as Track
}

/** Returns the number at a place that is known to exist. */
export function at(column: Float64Array, place: number): number {
  return column[place] as number
}

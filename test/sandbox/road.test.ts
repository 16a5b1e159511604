import { expect, it } from 'vitest'
import { homeIn } from '../../src/sandbox/athlete/history.ts'
import { at, drawWind, simulateTrack } from '../../src/sandbox/athlete/ride.ts'
import { makeRider } from '../../src/sandbox/rider.ts'

// The physics of a rider and a bicycle of 82 kg, written down a second time.
const WEIGHT = 82 * 9.81
const METRES_PER_DEGREE = 111_320
/** A position in a time trial, and a wide jacket on soft tyres, as multiples of an upright rider. */
const PLAUSIBLE_NEED = [0.6, 1.66] as const
const WINDOW_S = 300

/** Simulates the rides of a rider's history. */
function simulateRides(seed: number, count: number, zone?: string) {
  const limits = { longestActivitySeconds: 7_200, todayMs: Date.UTC(2026, 2, 12) }
  const rider = makeRider({ username: 'rider', password: '', seed, count, home: homeIn(zone), ...limits })
  return [...rider.activities.values()].map((activity) => {
    if (activity.source.kind === 'file') return expect.fail('a history has no files')
    const ride = { ...activity, ...activity.source.ride, signature: activity.riddenWith }
    return { ride, track: simulateTrack(ride) }
  })
}

it.each([
  [1, undefined],
  [2, 'Asia/Kathmandu'],
  [3, 'Pacific/Auckland'],
] as const)('obeys physics in every ride of seed %i', (seed, zone) => {
  for (const { ride, track } of simulateRides(seed, 16, zone)) {
    const what = `${ride.path}, ${ride.activityType} of ${ride.seconds} s`
    const wind = drawWind(ride)
    const aroundEarth = METRES_PER_DEGREE * Math.cos((ride.home.lat * Math.PI) / 180)
    let [speeds, moved] = [0, 0]
    const windows: Array<{ given: number; kept: number; taken: number }> = []
    for (let i = 1; i < ride.seconds; i++) {
      const [speed, before, climb] = [
        at(track.spd, i),
        at(track.spd, i - 1),
        at(track.alt, i) - at(track.alt, i - 1),
      ]
      const north = (at(track.lat, i) - at(track.lat, i - 1)) * METRES_PER_DEGREE
      const east = (at(track.lng, i) - at(track.lng, i - 1)) * aroundEarth
      const wanted = at(track.dist, i) - at(track.dist, i - 1)
      speeds += Math.abs(speed - wanted)
      moved += ride.indoor ? wanted : Math.hypot(north, east)
      if (ride.running) continue
      const against = ride.indoor ? 0 : wind.speed * Math.cos(Math.atan2(east, north) - wind.from)
      const air = 0.6 * 0.32 * (before + against) * Math.abs(before + against) * before
      const [given, taken] = [0.975 * at(track.power, i), 0.005 * WEIGHT * before + air]
      const kinetic = (82 * (speed ** 2 - before ** 2)) / 2
      const place = Math.floor((i - 1) / WINDOW_S)
      const window = windows[place] ?? { given: 0, kept: 0, taken: 0 }
      windows[place] = window
      window.given += given
      window.kept += kinetic + WEIGHT * climb
      window.taken += taken
      // Wind from behind may push; the slope changes within a second.
      const most = given + 1.66 * Math.max(0, -air) + 0.02 * WEIGHT * before
      if (speed > 0.61 && kinetic + (WEIGHT * climb * before) / speed > most)
        expect.fail(`${what}: ${speed} m/s after ${i} s is faster than power and slope allow`)
    }
    const distance = at(track.dist, ride.seconds - 1) - at(track.dist, 0)
    expect(speeds / distance, `${what}: distance by speed`).toBeLessThan(1e-6)
    expect(Math.abs(moved / distance - 1), `${what}: distance on the map`).toBeLessThan(0.01)
    if (ride.running) continue
    const sum = (of: 'given' | 'kept' | 'taken') => windows.reduce((total, window) => total + window[of], 0)
    const need = (sum('given') - sum('kept')) / sum('taken')
    expect(need, `${what}: need`).toBeGreaterThan(PLAUSIBLE_NEED[0])
    expect(need, `${what}: need`).toBeLessThan(PLAUSIBLE_NEED[1])
    for (const { given, kept, taken } of windows.slice(0, -1))
      expect(Math.abs((given - kept - need * taken) / given), `${what}: energy`).toBeLessThan(0.03)
  }
})

it('comes home, and rides the same loops again', () => {
  const times = new Map<string, number>()
  for (const { ride, track } of simulateRides(1, 60)) {
    if (ride.indoor || ride.seconds < 1_200) continue
    const distance = at(track.dist, ride.seconds - 1)
    const missed = (column: Float64Array) =>
      (at(column, ride.seconds - 1) - at(column, 0)) * METRES_PER_DEGREE
    expect(Math.hypot(missed(track.lat), missed(track.lng)) / distance, ride.path).toBeLessThan(0.03)
    const loop = `${ride.running} ${(distance / 1_000).toFixed(1)}`
    times.set(loop, (times.get(loop) ?? 0) + 1)
  }
  expect([...times.values()].filter((count) => count > 2).length, [...times].join(' ')).toBeGreaterThan(3)
})

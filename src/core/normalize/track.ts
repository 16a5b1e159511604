import { isPosition } from '../../kit/floats.ts'
import type { Track } from '../store/samples/content.ts'
import type { Samples } from '../store/samples/encode-samples.ts'

/** Distance between two points of a track, m. Positions of a rider who stands still stay closer together and add no points. */
const STEP_M = 50
/** Maximum distance between consecutive positions, m. The path across a longer jump is unknown. Tunnels are shorter. */
const MAX_GAP_M = 1_000
/** Two points this close that are passed in the same direction are on the same route, m. Between buildings, GPS errs by half of that. */
const NEAR_M = 60
/** Two tracks are the same route if each has at least this share of its points near the other. */
const MIN_SHARE = 0.9

/** Points are stored in millionths of a degree. */
export const UNITS = 1_000_000
/** Metres per unit of latitude. */
export const M_A_UNIT = 111_320 / UNITS
const REACH = NEAR_M / M_A_UNIT
/** Slightly more than REACH, because the cosine differs within a cell: near points are in the same or a neighbouring cell. */
const CELL = 1.01 * REACH

/** Maximum number of points of an outline: the outlines of 3,000 activities take less than 300 kB in a response. */
const MAX_OUTLINE = 36

/** Makes a point every 50 m along the positions (latitude and longitude alternate), and an outline. Undefined without samples. */
export function normalizeTrack({ count, columns }: Pick<Samples, 'count' | 'columns'>): Track | undefined {
  if (count === 0) return undefined
  const points: number[] = []
  let [lat, lng, cosine] = [Number.NaN, Number.NaN, 1]
  const add = (north: number, east: number) => {
    ;[lat, lng, cosine] = [north, east, cosineOf(north)]
    points.push(Math.round(north), Math.round(east))
  }
  for (let index = 0; index < count; index++) {
    const [y, x] = [columns.lat[index] as number, columns.lng[index] as number]
    if (!isPosition(y, x)) continue
    const [north, east] = [y * UNITS, x * UNITS]
    let metres = Math.hypot(north - lat, (east - lng) * cosine) * M_A_UNIT
    if (!(metres <= MAX_GAP_M)) add(north, east)
    else
      for (; metres >= STEP_M; metres -= STEP_M)
        add(lat + ((north - lat) * STEP_M) / metres, lng + ((east - lng) * STEP_M) / metres)
  }
  const track = Int32Array.from(points)
  const outline = simplifyTrack(track, MAX_OUTLINE)
  return {
    lengthM: (points.length / 2) * STEP_M,
    points: Buffer.from(track.buffer),
    outline: Buffer.from(outline.buffer),
  }
}

/** Decodes the points of a stored track or outline; latitude and longitude alternate. */
export function decodePoints(bytes: Buffer): Int32Array {
  // Copies the bytes, because an Int32Array must start at a multiple of four bytes.
  return new Int32Array(new Uint8Array(bytes).buffer)
}

/** Simplifies a track (Douglas-Peucker) to at most `most` points. Leaves out points closer than `toleranceM` to the line. */
export function simplifyTrack(points: Int32Array, most: number, toleranceM = 0): Int32Array {
  const cosine = cosineOf(points[0] ?? 0)
  // A segment between two kept points, and the point between them furthest from it.
  const partOf = (from: number, to: number) => {
    const [y, x] = [points[from] as number, points[from + 1] as number]
    const [north, east] = [(points[to] as number) - y, ((points[to + 1] as number) - x) * cosine]
    const square = north ** 2 + east ** 2 || 1
    let [far, at] = [-1, from]
    for (let place = from + 2; place < to; place += 2) {
      const [dy, dx] = [(points[place] as number) - y, ((points[place + 1] as number) - x) * cosine]
      const share = Math.min(1, Math.max(0, (dy * north + dx * east) / square))
      const distance = (dy - share * north) ** 2 + (dx - share * east) ** 2
      if (distance > far) [far, at] = [distance, place]
    }
    return { from, to, far, at }
  }
  const last = points.length - 2
  const parts = last > 0 ? [partOf(0, last)] : []
  while (parts.length > 0 && parts.length < most - 1) {
    const next = parts.reduce((one, other) => (other.far > one.far ? other : one))
    if (next.far <= (toleranceM / M_A_UNIT) ** 2) break
    parts.splice(parts.indexOf(next), 1, partOf(next.from, next.at), partOf(next.at, next.to))
  }
  const places = [...parts.map(({ from }) => from), ...(last < 0 ? [] : [last])]
  return Int32Array.from(places.flatMap((place) => [points[place] as number, points[place + 1] as number]))
}

/**
 * Compares a track with others. Returns for each the share of points that are near a point of the other track in the same direction: the
 * lower of the two shares, or 0 if they are not the same route. The result is symmetric.
 */
export function compareTracks(points: Int32Array, others: readonly Int32Array[]): number[] {
  const cells = new Map<number, number[]>()
  for (let place = 0; place < points.length; place += 2) {
    const row = Math.floor((points[place] as number) / CELL)
    const cell = cellOf(row, columnOf(row, points[place + 1] as number))
    const places = cells.get(cell)
    if (places) places.push(place)
    else cells.set(cell, [place])
  }
  return others.map((track) => {
    const count = track.length / 2
    const covered = new Set<number>()
    // Large strides detect a different route early.
    const stride = count % 7_919 === 0 ? 1 : 7_919
    let missed = 0
    for (let n = 0; n < count; n++) {
      const at = 2 * ((n * stride) % count)
      const [lat, lng] = [track[at] as number, track[at + 1] as number]
      let isNear = false
      for (let beside = 0; beside < 9; beside++) {
        const row = Math.floor(lat / CELL) + Math.floor(beside / 3) - 1
        for (const place of cells.get(cellOf(row, columnOf(row, lng) + (beside % 3) - 1)) ?? []) {
          const [y, x] = [points[place] as number, points[place + 1] as number]
          const cosine = cosineOf((lat + y) / 2)
          if ((lat - y) ** 2 + ((lng - x) * cosine) ** 2 > REACH ** 2) continue
          const alongLng = stepAt(track, at + 1) * stepAt(points, place + 1) * cosine ** 2
          if (stepAt(track, at) * stepAt(points, place) + alongLng <= 0) continue
          covered.add(place)
          isNear = true
        }
      }
      if (!isNear && ++missed > count * (1 - MIN_SHARE)) return 0
    }
    const share = Math.min(1 - missed / count, (2 * covered.size) / points.length)
    return share < MIN_SHARE ? 0 : share
  })
}

/** Central difference of one coordinate at `place`: next point minus previous point, one-sided at either end of the track. */
const stepAt = (track: Int32Array, place: number) =>
  (track[place + 2 < track.length ? place + 2 : place] as number) -
  (track[place > 1 ? place - 2 : place] as number)
const cosineOf = (lat: number) => Math.max(0.01, Math.cos((lat / UNITS) * (Math.PI / 180)))
const columnOf = (row: number, lng: number) => Math.floor((lng * cosineOf((row + 0.5) * CELL)) / CELL)
/** Hashes a cell. Several cells may have the same hash. */
const cellOf = (row: number, column: number) => Math.imul(row, 73_856_093) ^ Math.imul(column, 19_349_663)

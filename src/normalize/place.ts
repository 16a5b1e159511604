import { isPosition } from '../kit/floats.ts'
import type { Place } from '../store/activities/detail-columns.ts'
import type { Samples } from '../store/samples/encode-samples.ts'

/**
 * Finds where an activity began and the box around it, degrees, from the samples with a position, in the order of time; all null
 * without one. A ride across the 180th meridian gets a box around the whole earth.
 */
export function normalizePlace({ count, columns: { lat, lng } }: Samples): Place {
  let first = -1
  let [south, north, west, east] = [90, -90, 180, -180]
  for (let index = 0; index < count; index++) {
    const [y, x] = [lat[index] as number, lng[index] as number]
    if (!isPosition(y, x)) continue
    if (first < 0) first = index
    if (y < south) south = y
    if (y > north) north = y
    if (x < west) west = x
    if (x > east) east = x
  }
  if (first < 0) return { startLat: null, startLng: null, south: null, north: null, west: null, east: null }
  return { startLat: lat[first] as number, startLng: lng[first] as number, south, north, west, east }
}

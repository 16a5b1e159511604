import { isPosition } from '../../../../kit/floats.ts'
import { followLine, type Place, project } from '../../shared/world-places.ts'
import type { Samples } from './summarize.ts'

/** A point of the route, and the index of its sample. */
export type RoutePoint = Place & { index: number }

/** Maximum number of points of a route: more are not visible. */
const MAX_POINTS = 2_500

/** Makes the route on the world map; undefined if it has fewer than two different places. */
export function makeRoute({
  lat,
  lng,
}: Pick<Samples, 'lat' | 'lng'>): [RoutePoint, ...RoutePoint[]] | undefined {
  const places: RoutePoint[] = []
  lat.forEach((degrees, index) => {
    const east = lng[index]
    if (degrees === null || east === null || east === undefined || !isPosition(degrees, east)) return
    places.push({ ...project(degrees, east), index })
  })
  const every = Math.max(1, Math.ceil(places.length / MAX_POINTS))
  const shown = places.filter((_, index) => index % every === 0 || index === places.length - 1)
  const [first, ...rest] = followLine(shown)
  return first && rest.some(({ x, y }) => x !== first.x || y !== first.y) ? [first, ...rest] : undefined
}

/** Finds the route's point for a sample index: the last point up to this index, or the first point if there is none. */
export function pointAt(route: readonly RoutePoint[], index: number): RoutePoint | undefined {
  return route.findLast((point) => point.index <= index) ?? route[0]
}

/** Finds the route's point nearest to a place. */
export function nearestPoint(route: readonly [RoutePoint, ...RoutePoint[]], { x, y }: Place): RoutePoint {
  const far = (point: Place) => Math.hypot(point.x - x, point.y - y)
  return route.reduce((nearest, point) => (far(point) < far(nearest) ? point : nearest))
}

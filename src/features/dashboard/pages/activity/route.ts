import type { Samples } from './summarize.ts'

/** A point of the route in the picture's units, and the index of its sample. */
type RoutePoint = { x: number; y: number; index: number }

/** A route as a picture: its points, its size and its scale. */
export type Route = {
  points: readonly RoutePoint[]
  width: number
  height: number
  /** units for a metre */
  scale: number
  /** the corner and the size of the picture on the world map, whose size is 1 */
  world: { x: number; y: number; perUnit: number }
}

/** The longer side of the picture. */
const SIDE = 1_000
const MARGIN = 40
/** The most points; more are not visible. */
const MAX_POINTS = 2_500
const EARTH_M = 40_075_016.7
/** The limit of the Mercator map, degrees. */
const MAX_LAT = 85

/** Makes the picture of a route in the projection of map tiles (Web Mercator); undefined with fewer than two places. */
export function makeRoute({ lat, lng }: Pick<Samples, 'lat' | 'lng'>): Route | undefined {
  const places: RoutePoint[] = []
  lat.forEach((degrees, index) => {
    const east = lng[index]
    if (degrees === null || east === null || east === undefined) return
    // Head units write 0, 0 before they know where they are.
    if (Math.abs(degrees) > MAX_LAT || (degrees === 0 && east === 0)) return
    places.push({ ...project(degrees, east), index })
  })
  const every = Math.max(1, Math.ceil(places.length / MAX_POINTS))
  const kept = places.filter((_, index) => index % every === 0 || index === places.length - 1)
  const [xs, ys] = [kept.map(({ x }) => x), kept.map(({ y }) => y)]
  const [left, right] = [Math.min(...xs), Math.max(...xs)]
  const [top, bottom] = [Math.min(...ys), Math.max(...ys)]
  const extent = Math.max(right - left, bottom - top)
  if (kept.length < 2 || !(extent > 0)) return undefined
  const perUnit = extent / (SIDE - 2 * MARGIN)
  const middle = lat[kept[0]?.index ?? 0] ?? 0
  return {
    points: kept.map(({ x, y, index }) => ({
      x: (x - left) / perUnit + MARGIN,
      y: (y - top) / perUnit + MARGIN,
      index,
    })),
    width: (right - left) / perUnit + 2 * MARGIN,
    height: (bottom - top) / perUnit + 2 * MARGIN,
    scale: 1 / (EARTH_M * Math.cos((middle * Math.PI) / 180) * perUnit),
    world: { x: left - MARGIN * perUnit, y: top - MARGIN * perUnit, perUnit },
  }
}

function project(lat: number, lng: number): { x: number; y: number } {
  const sine = Math.sin((lat * Math.PI) / 180)
  return { x: lng / 360 + 0.5, y: 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI) }
}

/** Finds the point of the route for a sample's index, usually the one before it. */
export function pointAt({ points }: Route, index: number): RoutePoint | undefined {
  return points.findLast((point) => point.index <= index) ?? points[0]
}

/** Finds the point of the route nearest to a place in the picture. */
export function nearestPoint({ points }: Route, x: number, y: number): RoutePoint | undefined {
  let nearest: RoutePoint | undefined
  let least = Infinity
  for (const point of points) {
    const distance = (point.x - x) ** 2 + (point.y - y) ** 2
    if (distance < least) [nearest, least] = [point, distance]
  }
  return nearest
}

/** A map tile: its address and its place in the route's picture. */
export type Tile = { address: string; x: number; y: number; size: number }

const MAX_ZOOM = 18
/** The largest drawn size of a tile, in the picture's units, so that it is sharp. */
const TILE_UNITS = 300

/** The visible part of a route's picture, in its units; at `zoom` 1 all of it. */
export type Part = { x: number; y: number; width: number; height: number; zoom: number }

/** Makes the visible part around a place at a zoom, within the picture. */
export function makePart({ width, height }: Route, zoom: number, { x, y }: { x: number; y: number }): Part {
  const begin = (middle: number, side: number) =>
    Math.min(Math.max(0, middle - side / zoom / 2), side - side / zoom)
  return { x: begin(x, width), y: begin(y, height), width: width / zoom, height: height / zoom, zoom }
}

/** Lists the map tiles behind a part of a route's picture; `template` holds `{z}`, `{x}` and `{y}`. */
export function makeTiles({ world }: Route, template: string, part: Part): Tile[] {
  const level = Math.ceil(Math.log2(part.zoom / (TILE_UNITS * world.perUnit)))
  const zoom = Math.min(MAX_ZOOM, Math.max(0, level))
  const count = 2 ** zoom
  const size = 1 / count / world.perUnit
  const tiles: Tile[] = []
  const tileAt = (corner: number, units: number) => Math.floor((corner + units * world.perUnit) * count)
  const [right, bottom] = [tileAt(world.x, part.x + part.width), tileAt(world.y, part.y + part.height)]
  for (let column = tileAt(world.x, part.x); column <= right; column++)
    for (let row = tileAt(world.y, part.y); row <= bottom; row++) {
      if (row < 0 || row >= count) continue
      const wrapped = ((column % count) + count) % count
      const address = template
        .replaceAll('{z}', String(zoom))
        .replaceAll('{x}', String(wrapped))
        .replaceAll('{y}', String(row))
      const place = (index: number, corner: number) => (index / count - corner) / world.perUnit
      tiles.push({ address, x: place(column, world.x), y: place(row, world.y), size })
    }
  return tiles
}

/** A place on the map of the world in the projection of map tiles (Web Mercator), whose size is 1. */
export type Place = Readonly<{ x: number; y: number }>
/** The place in the middle of a map, and its px for a unit of the world. */
export type Eye = Place & Readonly<{ scale: number }>

export const EARTH_M = 40_075_016.7
/** The highest scale: a pixel is 30 cm at the equator. */
export const MAX_SCALE = EARTH_M / 0.3

/** Returns the place of a latitude and a longitude, degrees. */
export function project(lat: number, lng: number): Place {
  const sine = Math.sin((lat * Math.PI) / 180)
  return { x: lng / 360 + 0.5, y: 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI) }
}

/** The units of musette.drawn_tracks across the world, and the base of its digits. */
const [TRACK_UNITS, TRACK_BASE] = [2 ** 20, 46]

/** Decodes the places of a track of musette.drawn_tracks. */
export function decodeTrack(track: string): Place[] {
  const places: Place[] = []
  const steps: number[] = []
  let [number, factor, x, y] = [0, 1, 0, 0]
  for (let index = 0; index < track.length; index++) {
    const digit = track.charCodeAt(index) - 35
    number += (digit % TRACK_BASE) * factor
    factor *= TRACK_BASE
    if (digit >= TRACK_BASE) continue
    steps.push(number % 2 === 1 ? -(number + 1) / 2 : number / 2)
    ;[number, factor] = [0, 1]
    if (steps.length % 2 === 1) continue
    x += steps.at(-2) ?? 0
    y += steps.at(-1) ?? 0
    places.push({ x: x / TRACK_UNITS, y: y / TRACK_UNITS })
  }
  return places
}

/** Selects the places in the midst of most, without those of journeys. */
export function homeOf(places: readonly Place[]): readonly Place[] {
  const most = (some: readonly Place[], of: (place: Place) => number) =>
    some.toSorted((one, other) => of(one) - of(other)).slice(some.length * 0.1, Math.ceil(some.length * 0.9))
  const byX = most(places, ({ x }) => x)
  return most(byX, ({ y }) => y)
}

/** Room beside what is shown, as a share of the map. */
const MARGIN = 0.05

/** Computes the eye that sees all places on a map of this size, px. */
export function seeAll(places: readonly Place[], width: number, height: number): Eye {
  let [left, right, top, bottom] = places.length > 0 ? [1, 0, 1, 0] : [0, 1, 0, 1]
  for (const { x, y } of places) {
    ;[left, right] = [Math.min(left, x), Math.max(right, x)]
    ;[top, bottom] = [Math.min(top, y), Math.max(bottom, y)]
  }
  const scale = (1 - 2 * MARGIN) * Math.min(width / (right - left), height / (bottom - top), MAX_SCALE / 4)
  return { x: (left + right) / 2, y: (top + bottom) / 2, scale }
}

/** A map tile: its address, and its place and size on the map, px. */
export type Tile = { address: string; x: number; y: number; size: number }
const MAX_TILE_LEVEL = 18
/** The largest drawn size of a tile, px, so that it is sharp. */
const TILE_PX = 300

/** Makes the tiles of a map of this size; `template` holds `{z}`, `{x}` and `{y}`. */
export function makeTiles({ x, y, scale }: Eye, template: string, width: number, height: number): Tile[] {
  const level = Math.min(MAX_TILE_LEVEL, Math.max(0, Math.ceil(Math.log2(scale / TILE_PX))))
  const count = 2 ** level
  const size = scale / count
  const [left, top] = [x * scale - width / 2, y * scale - height / 2]
  const tiles: Tile[] = []
  for (let column = Math.floor(left / size); column * size < left + width; column++)
    for (let row = Math.max(0, Math.floor(top / size)); row < count && row * size < top + height; row++) {
      const part = { z: level, x: ((column % count) + count) % count, y: row }
      const address = template.replaceAll(/\{([zxy])\}/g, (_, name: 'z' | 'x' | 'y') => String(part[name]))
      tiles.push({ address, x: column * size - left, y: row * size - top, size })
    }
  return tiles
}

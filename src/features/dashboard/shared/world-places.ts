/** A place on the world map in Web Mercator, the projection of map tiles; the world is 1 wide and 1 high. */
export type Place = Readonly<{ x: number; y: number }>
/** The center of a map, and its scale: px per width of the world. */
export type Eye = Place & Readonly<{ scale: number }>

export const EARTH_M = 40_075_016.7
/** Maximum scale: a pixel is 30 cm at the equator. */
export const MAX_SCALE = EARTH_M / 0.3

/** Maximum latitude of the map, degrees north and south. */
const MAX_LAT = 85

/** Returns the place of a latitude and a longitude, degrees. */
export function project(lat: number, lng: number): Place {
  const sine = Math.sin((Math.min(MAX_LAT, Math.max(-MAX_LAT, lat)) * Math.PI) / 180)
  return { x: lng / 360 + 0.5, y: 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI) }
}

/**
 * Moves each place of a line to the copy of the world in which it is nearest to the place before, and the first place nearest to `start`. A
 * line over the 180° meridian therefore continues beyond the edge of the world.
 */
export function followLine<P extends Place>(places: readonly P[], start: Place | undefined = places[0]): P[] {
  let last = start?.x ?? 0
  return places.map((place) => {
    last = place.x + Math.round(last - place.x)
    return { ...place, x: last }
  })
}

/** A part of the world between two latitudes and two longitudes, millionths of a degree. */
export type Box = Readonly<Record<'west' | 'south' | 'east' | 'north', number>>

/** Computes the part of the world that a map of this size, px, shows. */
export function boxOf({ x, y, scale }: Eye, width: number, height: number): Box {
  const [east, south] = [width / 2 / scale, height / 2 / scale]
  const longitude = (at: number) => Math.round((at - 0.5) * 360_000_000)
  const latitude = (at: number) =>
    Math.round((Math.atan(Math.sinh(Math.PI * (1 - 2 * at))) * 180_000_000) / Math.PI)
  return {
    ...{ west: longitude(x - east), east: longitude(x + east) },
    ...{ south: latitude(y + south), north: latitude(y - south) },
  }
}

/** Computes the metres per px in the middle of a map. */
export const pixelMetres = ({ y, scale }: Eye) => EARTH_M / Math.cosh(2 * Math.PI * (0.5 - y)) / scale

/** Resolution of tracks, units across the world: for the whole map (38 m at the equator), and for a part of it (2.4 m). */
export const [TRACK_UNITS, NEAR_UNITS] = [2 ** 20, 2 ** 24]
/** Base of the digits of an encoded track. */
const BASE = 46

/**
 * Encodes places as integers, `units` across the world: x and y in turn, each as the difference from the place before. A number n is encoded
 * as 2n, or -2n - 1 if negative, lowest digit first. The last digit of a number is the ASCII character 35 + digit, the others 81 + digit.
 */
export function encodeTrack(places: readonly Place[], units: number): string {
  let [text, x, y] = ['', 0, 0]
  for (const place of places) {
    const [east, south] = [Math.round(place.x * units), Math.round(place.y * units)]
    for (const step of [east - x, south - y]) {
      let left = step < 0 ? -2 * step - 1 : 2 * step
      for (; left >= BASE; left = Math.floor(left / BASE)) text += String.fromCharCode(81 + (left % BASE))
      text += String.fromCharCode(35 + left)
    }
    ;[x, y] = [east, south]
  }
  return text
}

/** Decodes the places that encodeTrack encoded. */
export function decodeTrack(track: string, units: number): Place[] {
  const numbers = Array.from(track.matchAll(/[Q-~]*[#-P]/g), ([text]) => {
    let number = 0
    for (let at = text.length - 1; at >= 0; at--) number = number * BASE + ((text.charCodeAt(at) - 35) % BASE)
    return number % 2 === 1 ? -(number + 1) / 2 : number / 2
  })
  let [x, y] = [0, 0]
  return Array.from({ length: numbers.length / 2 }, (_, n) => {
    x += numbers[2 * n] as number
    y += numbers[2 * n + 1] as number
    return { x: x / units, y: y / units }
  })
}

/** Returns the places around the rider's usual area, and leaves out journeys. */
export function homeOf(places: readonly Place[]): readonly Place[] {
  const most = (some: readonly Place[], of: (place: Place) => number) =>
    some.toSorted((one, other) => of(one) - of(other)).slice(some.length * 0.1, Math.ceil(some.length * 0.9))
  const byX = most(places, ({ x }) => x)
  return most(byX, ({ y }) => y)
}

/** Margin around the places, as a share of the map. */
const MARGIN = 0.05

/** Computes the center and scale at which a map of this size, px, shows all places. */
export function seeAll(places: readonly Place[], width: number, height: number): Eye {
  let [left, right, top, bottom] = places.length > 0 ? [1, 0, 1, 0] : [0, 1, 0, 1]
  for (const { x, y } of places) {
    ;[left, right] = [Math.min(left, x), Math.max(right, x)]
    ;[top, bottom] = [Math.min(top, y), Math.max(bottom, y)]
  }
  const scale = (1 - 2 * MARGIN) * Math.min(width / (right - left), height / (bottom - top), MAX_SCALE / 4)
  return { x: (left + right) / 2, y: (top + bottom) / 2, scale }
}

/** A map tile: its URL, and its position and size on the map, px. */
export type Tile = { address: string; x: number; y: number; size: number }
const MAX_TILE_LEVEL = 18
/** Maximum size of a drawn tile, px: a larger tile looks blurred. */
const TILE_PX = 300

/** Lists the tiles of a map of this size. `template` is a URL with `{z}`, `{x}` and `{y}`; `{s}` stands for one of three hosts, as in Leaflet. */
export function makeTiles({ x, y, scale }: Eye, template: string, width: number, height: number): Tile[] {
  const level = Math.min(MAX_TILE_LEVEL, Math.max(0, Math.ceil(Math.log2(scale / TILE_PX))))
  const count = 2 ** level
  const size = scale / count
  const [left, top] = [x * scale - width / 2, y * scale - height / 2]
  const tiles: Tile[] = []
  for (let column = Math.floor(left / size); column * size < left + width; column++)
    for (let row = Math.max(0, Math.floor(top / size)); row < count && row * size < top + height; row++) {
      const place = ((column % count) + count) % count
      const part = { z: level, x: place, y: row, s: 'abc'[(place + row) % 3], r: '' }
      const address = template.replaceAll(/\{([zxysr])\}/g, (_, name: keyof typeof part) =>
        String(part[name]),
      )
      tiles.push({ address, x: column * size - left, y: row * size - top, size })
    }
  return tiles
}

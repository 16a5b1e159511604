/** What a bike computer records, one place a second of riding; NaN where it recorded nothing. */
export type Track = {
  /** Milliseconds since 1970; jumps where recording paused. */
  unixMs: Float64Array
  /** Watts in that second. */
  power: Float64Array
  /** Turns a minute. */
  cad: Float64Array
  /** Beats a minute. */
  hr: Float64Array
  /** Metres above the sea. */
  alt: Float64Array
  /** Metres a second. */
  spd: Float64Array
  /** Degrees. */
  lat: Float64Array
  lng: Float64Array
  /** Metres since the start. */
  dist: Float64Array
  /** Watts a trainer workout asks for. */
  tgt: Float64Array
}

/** Makes an empty track of `length` places, all NaN. */
export function makeTrack(length: number): Track {
  const column = () => new Float64Array(length).fill(Number.NaN)
  return {
    unixMs: column(),
    power: column(),
    cad: column(),
    hr: column(),
    alt: column(),
    spd: column(),
    lat: column(),
    lng: column(),
    dist: column(),
    tgt: column(),
  }
}

/** The number at a place that is known to exist. */
export function at(column: Float64Array, place: number): number {
  return column[place] as number
}

import { makeRandom } from '../athlete/random.ts'
import { at } from '../athlete/track.ts'
import type { Scored } from './strain.ts'

/** One second as the service sends it (session_data entry). */
export type SessionEntry = Record<string, number | string | null>

/** What one activity's recording leaves out or adds beyond the document. */
type Traits = {
  raw: boolean
  parts: boolean
  scaled: boolean
  proximity: boolean
  texts: boolean
  nulls: boolean
  strapless: boolean
}

/**
 * Writes the scored track second by second: `unix_time` in ms, `spd` in metres an hour, `dist` in running metres,
 * `tws` as a running total that ends at the summary's `xss`. `plain` leaves the oddities of recordings out; `extra`
 * fields go into every entry.
 */
export function makeSessionData(
  scored: Scored,
  input: {
    seed: number | string
    xss: number
    plain?: boolean
    extra?: Readonly<Record<string, number | string | null>>
  },
): SessionEntry[] {
  const { track } = scored
  const traits = input.plain ? PLAIN : drawTraits(input.seed)
  const length = track.unixMs.length
  const total = (place: number) => at(scored.low, place) + at(scored.high, place) + at(scored.peak, place)
  return Array.from({ length }, (_, i) => {
    const entry: SessionEntry = {
      power: at(scored.power, i),
      unix_time: at(track.unixMs, i),
      mpa: at(scored.mpa, i),
      cad: orNull(at(track.cad, i)),
      alt: traits.nulls && i % 97 < 3 ? null : orNull(at(track.alt, i)),
      hr: traits.strapless ? null : orNull(at(track.hr, i)),
      spd: orNull(at(track.spd, i) * 3_600),
      tgt: orNull(at(track.tgt, i)),
      lat: orNull(at(track.lat, i)),
      lng: orNull(at(track.lng, i)),
      dist: orNull(at(track.dist, i)),
      tws: i === length - 1 ? input.xss : total(i),
      xds: at(scored.rate, i),
    }
    if (traits.raw) entry.p_raw = at(scored.raw, i)
    if (traits.parts) {
      entry.lws = at(scored.low, i)
      entry.hws = at(scored.high, i)
      entry.pws = at(scored.peak, i)
    }
    if (traits.scaled) entry.t_scaled = i / Math.max(1, length - 1)
    if (traits.proximity) entry.proximity = `${Math.round((100 * at(scored.power, i)) / at(scored.mpa, i))} %`
    if (traits.texts && i % 10 === 0) {
      entry.dist = String(entry.dist)
      entry.power = String(entry.power)
    }
    return input.extra ? Object.assign(entry, input.extra) : entry
  })
}

/** What was recorded in a file comes back as it was recorded. */
const PLAIN: Traits = {
  raw: true,
  parts: false,
  scaled: false,
  proximity: false,
  texts: false,
  nulls: false,
  strapless: false,
}

function drawTraits(seed: number | string): Traits {
  const random = makeRandom(seed, 'traits')
  return {
    raw: random() < 0.85,
    parts: random() < 0.3,
    scaled: random() < 0.15,
    proximity: random() < 0.1,
    texts: random() < 0.12,
    nulls: random() < 0.2,
    strapless: random() < 0.08,
  }
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value
}

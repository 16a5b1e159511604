import { makeRandom } from './random.ts'
import { at } from './ride.ts'
import type { Scored } from './score.ts'

/** One second as the service sends it (an entry of session_data). */
type WireSample = Record<string, number | string | null>

/** Fields that an activity's recording adds to the fields of every recorded answer, or leaves null. */
type Traits = Record<'raw' | 'parts' | 'scaled' | 'proximity' | 'nulls' | 'strapless', boolean>

/**
 * Makes the samples of a scored track, second by second: `unix_time` in ms, `time` in seconds since the start, `spd` in metres an hour, `dist`
 * in cumulative metres, `wexp` in cumulative kJ, `tws` as a cumulative total that ends at the summary's `xss`, `mm` as a share of `mpa`, and
 * `mmp0s` as the watts left below `mpa`. `plain` leaves out the oddities of recordings; `texts` writes power and distance as strings in every
 * tenth second; `extra` fields are added to every entry.
 */
export function makeSamples(
  scored: Scored,
  input: {
    seed: number | string
    plain?: boolean
    texts?: boolean
    extra?: Readonly<Record<string, number | string | null>>
  },
): WireSample[] {
  const { track, signature } = scored
  const traits = input.plain ? PLAIN : drawTraits(input.seed)
  const length = track.unixMs.length
  const startMs = at(track.unixMs, 0)
  let workKj = 0
  return Array.from({ length }, (_, i) => {
    const [power, mpa] = [at(scored.power, i), at(scored.mpa, i)]
    const [low, high, peak] = [at(scored.low, i), at(scored.high, i), at(scored.peak, i)]
    workKj += power / 1_000
    const entry: WireSample = {
      power,
      unix_time: at(track.unixMs, i),
      time: (at(track.unixMs, i) - startMs) / 1_000,
      mpa,
      cad: orNull(at(track.cad, i)),
      alt: traits.nulls && i % 97 < 3 ? null : orNull(at(track.alt, i)),
      hr: traits.strapless ? null : orNull(at(track.hr, i)),
      spd: orNull(at(track.spd, i) * 3_600),
      tgt: orNull(at(track.tgt, i)),
      lat: orNull(at(track.lat, i)),
      lng: orNull(at(track.lng, i)),
      dist: orNull(at(track.dist, i)),
      wexp: workKj,
      xssr: 100 * (power / signature.ftp) ** 2,
      mm: power / mpa,
      mmp0s: mpa - power,
      tws: low + high + peak,
      xds: at(scored.rate, i),
    }
    if (traits.raw) entry.p_raw = at(scored.raw, i)
    if (traits.parts) Object.assign(entry, { lws: low, hws: high, pws: peak })
    if (traits.scaled) entry.t_scaled = i / Math.max(1, length - 1)
    if (traits.proximity) entry.proximity = `${Math.round((100 * power) / mpa)} %`
    if (input.texts && i % 10 === 0) {
      entry.dist = String(entry.dist)
      entry.power = String(power)
    }
    return input.extra ? Object.assign(entry, input.extra) : entry
  })
}

/** Samples of an uploaded file are returned as they were recorded. */
const PLAIN: Partial<Traits> = { raw: true }

function drawTraits(seed: number | string): Traits {
  const random = makeRandom(seed, 'traits')
  return {
    raw: random() < 0.85,
    parts: random() < 0.4,
    scaled: random() < 0.25,
    proximity: random() < 0.2,
    nulls: random() < 0.2,
    strapless: random() < 0.08,
  }
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value
}

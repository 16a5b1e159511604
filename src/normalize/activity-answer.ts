import type { SampleField } from '../fields/sample-fields.ts'
import { isPosition } from '../kit/floats.ts'
import type { Drift, WithDrift } from '../service/wire/lenient.ts'
import type { WireActivity } from '../service/wire/wire-activity.ts'
import type { WireSamples } from '../service/wire/wire-samples.ts'
import type { DerivedDetail, Place } from '../store/activities/detail-columns.ts'
import type { Samples } from '../store/samples/encode-samples.ts'
import { hashSummary, normalizeDetail } from './activity-row.ts'
import { LONGEST_S, measureSampleSpacing } from './by-second.ts'
import { driftOfDate } from './dates.ts'
import { normalizeIntensity } from './intensity.ts'
import { normalizeMeasures } from './measures/measures.ts'
import { makeRecorded } from './measures/recorded-seconds.ts'
import { normalizePowerCurve } from './power-curve.ts'
import { type Lost, normalizeSamples } from './sample-columns.ts'

const NO_SAMPLES: WireSamples = { count: 0, fields: new Map() }
/** A pause of more than a day is not a pause of a ride, ms. */
const LONGEST_PAUSE_MS = 24 * 3_600_000
/** A ride is longer than the service says by its pauses, and hardly shorter than two thirds of that. */
const MAX_OF_RUN = 1.5

type NormalizedActivity = {
  readonly derived: DerivedDetail
  readonly drift: readonly Drift[]
  /** what no column can hold; `drift` has an example of each */
  readonly lost: Lost
}

/** Normalizes an answer with its samples (service document, endpoint 8) to everything that is derived from it. */
export function normalizeActivity(wire: WireActivity & WithDrift): NormalizedActivity {
  const { samples, extras, drift, lost } = normalizeSamples(wire.session_data ?? NO_SAMPLES)
  const { main, ...content } = deriveContent(samples, {
    ftp: wire.sigFtp ?? null,
    durationS: wire.duration ?? null,
  })
  return {
    derived: {
      row: normalizeDetail(wire, main, content.place),
      summary: wire.summaryAsSent ?? null,
      summaryHash: hashSummary(wire),
      samples,
      sampleExtras: extras,
      ...content,
    },
    drift: [...wire.drift, ...driftOfDate('summary.start_date', wire), ...drift],
    lost,
  }
}

/**
 * Computes all that is derived from the samples of an activity, by their main run. `ftp`: its threshold power, W; `durationS`: what the
 * service says that it took; null when unknown.
 */
export function deriveContent(
  samples: Samples,
  { ftp, durationS }: { ftp: number | null; durationS: number | null },
) {
  const { main, strays } = normalizeMainRun(samples, durationS)
  const spacing = measureSampleSpacing(main)
  const recorded = makeRecorded(main, spacing)
  return {
    main,
    run:
      main.count === 0
        ? { straySamples: null, recordedFrom: null }
        : { straySamples: strays, recordedFrom: new Date(Math.floor(main.t[0] as number)) },
    place: normalizePlace(main),
    powerCurve: normalizePowerCurve(main, recorded),
    intensity: normalizeIntensity(main, ftp, spacing),
    measures: normalizeMeasures(main, ftp, recorded),
  }
}

/**
 * Takes the main run out of samples in the order of time, and how many strays are not of it. Runs begin where more than a day lies between
 * two samples; the main one has the most samples, and of equal ones it is the last, because a clock is set right and not wrong. All
 * samples are of it when they span no more than 7 days, and the `duration` of the service, s, does not say that the main run is the ride.
 */
function normalizeMainRun(samples: Samples, durationS: number | null) {
  const { count, t } = samples
  let [from, end, begin] = [0, 0, 0]
  for (let index = 1; index <= count; index++) {
    if (index < count && (t[index] as number) - (t[index - 1] as number) <= LONGEST_PAUSE_MS) continue
    if (index - begin >= end - from) [from, end] = [begin, index]
    begin = index
  }
  const spanS = (first: number, last: number) => ((t[last] as number) - (t[first] as number)) / 1_000
  if (end - from === count) return { main: samples, strays: 0 }
  const isWhole = durationS !== null && durationS <= MAX_OF_RUN * spanS(from, end - 1)
  if (!isWhole && spanS(0, count - 1) <= LONGEST_S) return { main: samples, strays: 0 }
  const columns = Object.fromEntries(
    Object.entries(samples.columns).map(([field, values]) => [field, values.subarray(from, end)]),
  ) as Record<SampleField, Float64Array>
  return { main: { count: end - from, t: t.subarray(from, end), columns }, strays: count - (end - from) }
}

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

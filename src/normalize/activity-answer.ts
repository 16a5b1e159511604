import type { Drift } from '../service/wire/lenient.ts'
import type { WireActivity } from '../service/wire/wire-activity.ts'
import type { WireSamples } from '../service/wire/wire-samples.ts'
import type { DerivedDetail } from '../store/activities/detail-columns.ts'
import { hashSummary, normalizeDetail } from './activity-row.ts'
import { driftOfDate } from './dates.ts'
import { normalizeIntensity } from './intensity.ts'
import { normalizeMeasures } from './measures/measures.ts'
import { normalizePlace } from './place.ts'
import { normalizePowerCurve } from './power-curve.ts'
import { type Lost, normalizeSamples } from './sample-columns.ts'
import { measureSampleSpacing } from './sample-spacing.ts'

const NO_SAMPLES: WireSamples = { count: 0, fields: new Map() }

type NormalizedActivity = {
  readonly derived: DerivedDetail
  readonly drift: readonly Drift[]
  /** what no column can hold; `drift` has an example of each */
  readonly lost: Lost
}

/** Normalizes an answer with its samples (service document, endpoint 8) to everything that is derived from it. */
export function normalizeActivity(wire: WireActivity): NormalizedActivity {
  const { samples, extras, drift, lost } = normalizeSamples(wire.session_data ?? NO_SAMPLES)
  const place = normalizePlace(samples)
  const spacing = measureSampleSpacing(samples)
  const ftp = wire.summary?.sig?.ftp ?? null
  return {
    derived: {
      row: normalizeDetail(wire, samples, place),
      summary: wire.summaryAsSent ?? null,
      summaryHash: hashSummary(wire),
      place,
      samples,
      sampleExtras: extras,
      powerCurve: normalizePowerCurve(samples, spacing),
      intensity: normalizeIntensity(samples, ftp, spacing),
      measures: normalizeMeasures(samples, ftp, spacing),
    },
    drift: [...wire.drift, ...driftOfDate('summary.start_date', wire.summary?.start_date), ...drift],
    lost,
  }
}

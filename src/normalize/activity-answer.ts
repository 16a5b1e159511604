import type { Drift } from '../service/wire/lenient.ts'
import type { WireActivity } from '../service/wire/wire-activity.ts'
import type { WireSamples } from '../service/wire/wire-samples.ts'
import type { DerivedDetail } from '../store/activities/detail-columns.ts'
import type { Samples } from '../store/samples/encode-samples.ts'
import { hashSummary, normalizeDetail } from './activity-row.ts'
import { driftOfDate } from './dates.ts'
import { normalizeIntensity } from './intensity.ts'
import { normalizeMainRun } from './main-run.ts'
import { normalizeMeasures } from './measures/measures.ts'
import { makeRecorded } from './measures/recorded-seconds.ts'
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
  const { main, ...content } = deriveContent(samples, {
    ftp: wire.summary?.sig?.ftp ?? null,
    durationS: wire.summary?.duration ?? null,
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
    drift: [...wire.drift, ...driftOfDate('summary.start_date', wire.summary?.start_date), ...drift],
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

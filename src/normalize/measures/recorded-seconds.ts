import type { Samples } from '../../store/samples/encode-samples.ts'
import { measureSampleSpacing, powerSourceOf, type SampleSpacing } from '../by-second.ts'
import { HIGHEST_HR } from '../intensity.ts'

/**
 * The samples of an activity that last: of several in one second only the last, in the order of time. Numbers are rounded to float4
 * like those in `training.samples`, so that SQL over the samples gives the same measures; NaN is unknown.
 */
export type Recorded = SampleSpacing &
  Readonly<{
    count: number
    /** W, from `p_raw` where the activity has it, else `power` */
    power: Float64Array
    /** 1/min, from 1 to 250 */
    hr: Float64Array
    /** 1/min */
    cad: Float64Array
    /** m */
    alt: Float64Array
    /** m */
    dist: Float64Array
  }>

/** Samples with the columns that are measured. */
type Measured = Pick<Samples, 't' | 'count'> & {
  readonly columns: Pick<Samples['columns'], 'power' | 'p_raw' | 'hr' | 'cad' | 'alt' | 'dist'>
}

/**
 * Takes what curve and measures need out of samples. The next one follows without a gap when it is as many seconds later as one
 * lasts.
 */
export function makeRecorded(
  samples: Measured,
  { spacingS, seconds, heldS }: SampleSpacing = measureSampleSpacing(samples),
): Recorded {
  const { columns } = samples
  const source = columns[powerSourceOf(samples)]
  const values = () => new Float64Array(samples.count)
  const recorded = { seconds: values(), heldS: new Uint16Array(samples.count), power: values(), hr: values() }
  const [cad, alt, dist] = [values(), values(), values()]
  let count = 0
  // One loop over all columns: each would cost as much as this one.
  for (let index = 0; index < samples.count; index++) {
    const held = heldS[index] as number
    if (held === 0) continue
    const beats = stored(columns.hr[index] as number)
    recorded.seconds[count] = seconds[index] as number
    recorded.heldS[count] = held
    recorded.power[count] = stored(source[index] as number)
    recorded.hr[count] = beats >= 1 && beats < HIGHEST_HR + 1 ? beats : Number.NaN
    cad[count] = stored(columns.cad[index] as number)
    alt[count] = stored(columns.alt[index] as number)
    dist[count] = stored(columns.dist[index] as number)
    count++
  }
  return {
    count,
    spacingS,
    seconds: recorded.seconds.subarray(0, count),
    heldS: recorded.heldS.subarray(0, count),
    power: recorded.power.subarray(0, count),
    hr: recorded.hr.subarray(0, count),
    cad: cad.subarray(0, count),
    alt: alt.subarray(0, count),
    dist: dist.subarray(0, count),
  }
}

/** Returns a number as `training.samples` holds it; an infinite one becomes NaN. */
function stored(value: number): number {
  const rounded = Math.fround(value)
  return rounded - rounded === 0 ? rounded : Number.NaN
}

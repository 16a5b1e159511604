import { hasValue } from '../kit/floats.ts'
import type { PowerSource } from '../store/samples/extras.ts'
import type { Samples } from '../store/samples/samples.ts'

/** Tells which power an activity is judged by: that of each second (`p_raw`) where it has one, else the mean of 5 s (`power`). */
export function powerSourceOf({ columns, count }: Samples): PowerSource {
  return hasValue(columns.p_raw, count) ? 'p_raw' : 'power'
}

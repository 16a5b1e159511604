import { fitsTimestamp } from '../../kit/floats.ts'
import { microsOf } from '../copy.ts'

/**
 * Counts the samples that share a time, from 1 in their order, and 0 for a sample whose time is its own: rows have no order
 * but that of their columns. Undefined when no time repeats, as in nearly every activity. Times are ms since 1970, in order;
 * those that become NULL count as one.
 */
export function makeOrdinals(t: Float64Array, count: number): Int32Array | undefined {
  let ordinals: Int32Array | undefined
  for (let index = 1; index < count; index++) {
    if (!isSameTime(t[index - 1] as number, t[index] as number)) continue
    ordinals ??= new Int32Array(count)
    const before = ordinals[index - 1] || 1
    ordinals[index - 1] = before
    ordinals[index] = before + 1
  }
  return ordinals
}

function isSameTime(a: number, b: number): boolean {
  if (b - a >= 1) return false
  if (!fitsTimestamp(a) || !fitsTimestamp(b)) return fitsTimestamp(a) === fitsTimestamp(b)
  return microsOf(a) === microsOf(b)
}

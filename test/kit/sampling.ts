/**
 * Tells whether a run tries every case, as `npm run converge` does with WHOLE=1. `npm test` tries of long families of cases
 * as many as find the faults of test/promises.
 */
export const whole = process.env.WHOLE === '1'

/** Takes `count` of the cases by chance, in their order, or all of them where every case is tried. */
export function sample<T>(cases: readonly T[], count: number): T[] {
  if (whole) return [...cases]
  const order = cases.map((_, index) => ({ index, at: Math.random() })).sort((a, b) => a.at - b.at)
  const taken = new Set(order.slice(0, count).map(({ index }) => index))
  return cases.filter((_, index) => taken.has(index))
}

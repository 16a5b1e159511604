/**
 * Whether this run tries every case, as `npm run converge` does with WHOLE=1. From long families of cases `npm test` tries only as many as
 * are needed to find the faults of test/promises.
 */
export const whole = process.env.WHOLE === '1'

/** Returns `count` random cases in their order, or all of them in a whole run. */
export function sample<T>(cases: readonly T[], count: number): T[] {
  if (whole) return [...cases]
  const order = cases.map((_, index) => ({ index, at: Math.random() })).sort((a, b) => a.at - b.at)
  const taken = new Set(order.slice(0, count).map(({ index }) => index))
  return cases.filter((_, index) => taken.has(index))
}

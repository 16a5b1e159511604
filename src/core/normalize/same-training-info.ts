/** A rider's signature in training info; null where a field is missing. */
export type Signature = Readonly<Record<'ftp' | 'ltp' | 'hie' | 'pp', number | null>>

/**
 * Two numbers that differ by no more are the same: half of the last digit that a person is shown. Loads and signature fall a
 * little every second, and that alone is not a change.
 */
const SAME_WITHIN: ReadonlyArray<readonly [path: RegExp, within: number]> = [
  [/^signature\.hie$/, 0.005], // kJ
  [/^signature\./, 0.05], // W
  [/^(tl|targetXSS)\./, 0.05], // XSS, also a day
]

/** Fields that differ between answers without a change of the rider: the outcome, and an address that may be signed. */
const VOLATILE: ReadonlySet<string> = new Set(['success', 'wotd.url'])

/** Tells whether two training infos, or such parts of them, are the same; the order of keys and far digits of numbers do not matter. */
export function isSameTrainingInfo(before: unknown, now: unknown): boolean {
  return isSame(before, now, '')
}

/** Tells whether two signatures are the same as far as a person is shown them. */
export function isSameSignature(before: unknown, now: unknown): boolean {
  return isSame(before, now, 'signature')
}

function isSame(a: unknown, b: unknown, path: string): boolean {
  if (VOLATILE.has(path)) return true
  if (isParent(a) && isParent(b)) {
    const keys = new Set([...Object.keys(a), ...Object.keys(b)])
    return [...keys].every((key) => isSame(a[key], b[key], path === '' ? key : `${path}.${key}`))
  }
  const within = SAME_WITHIN.find(([pattern]) => pattern.test(path))?.[1]
  const [left, right] = [numberOf(a), numberOf(b)]
  if (within !== undefined && left !== undefined && right !== undefined) {
    return Math.abs(left - right) <= within
  }
  // A missing value and null are the same.
  return (a ?? null) === (b ?? null)
}

function isParent(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'string' || value.trim() === '') return undefined
  const number = Number(value)
  return Number.isNaN(number) ? undefined : number
}

/** So few workouts may go at once without a doubt: a person tidies up. */
const HANDFUL = 5
/** An empty list is believed when it held no more than this. */
const FEW = 2

/**
 * Tells whether a list has lost so much since the last time that it is more likely cut than true: empty where there were
 * several, or without more than a handful that is more than a fifth.
 */
export function isShrunken(input: { before: number; gone: number; listed: number }): boolean {
  const { before, gone, listed } = input
  if (listed === 0) return before > FEW
  return gone > HANDFUL && gone * 5 > before
}

/** This many items may be missing whatever their share: a person deletes a few at a time. */
const ALWAYS_ALLOWED = 5

/**
 * Tells whether a list has lost so many items since the last time that it is more likely cut than true: it is empty and
 * `before` was above `emptyAllowed`, or it lacks more than five and more than a fifth.
 */
export function isShrunken(input: {
  before: number
  gone: number
  listed: number
  emptyAllowed: number
}): boolean {
  const { before, gone, listed, emptyAllowed } = input
  if (listed === 0) return before > emptyAllowed
  return gone > ALWAYS_ALLOWED && gone * 5 > before
}

/** Finds the index of the last of every month in ascending seconds since 1970. */
export function lastOfMonths(at: readonly number[]): number[] {
  const month = (seconds: number | undefined) =>
    seconds === undefined ? '' : new Date(seconds * 1_000).toISOString().slice(0, 7)
  return at.flatMap((seconds, index) => (month(seconds) === month(at[index + 1]) ? [] : [index]))
}

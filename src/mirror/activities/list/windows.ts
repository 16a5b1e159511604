import { SECOND } from '../../../kit/durations.ts'

/** A span of activity starts, both ends named; the service counts in whole seconds. */
export type Window = Readonly<{ from: Date; to: Date }>

/**
 * Splits a window by years from its beginning; the last part may be shorter. Neighbours share their boundary, so that
 * nothing is missed whichever ends the service counts in.
 */
export function splitByYears(window: Window): Window[] {
  const parts: Window[] = []
  let from = window.from
  while (from < window.to) {
    const next = new Date(from)
    next.setUTCFullYear(from.getUTCFullYear() + 1)
    const to = next < window.to ? next : window.to
    parts.push({ from, to })
    from = to
  }
  return parts
}

/**
 * Splits a window so that half of the listed `starts` lie on each side: a list that was cut must then bring more in
 * two halves, whichever entries it left out. Without any start it splits in the middle. Undefined when the window is
 * too small to be split, one second.
 */
export function splitInHalves(
  window: Window,
  starts: ReadonlyArray<Date | null>,
): [Window, Window] | undefined {
  const from = toSeconds(window.from)
  const to = toSeconds(window.to)
  if (to - from < 2) return undefined
  const known = starts.filter((start) => start !== null).map(toSeconds)
  const median = known.toSorted((a, b) => a - b)[Math.floor(known.length / 2)]
  // The middle one begins the upper half, so that the lower one holds what is older than a crowd at one moment.
  const wished = median === undefined ? Math.floor((from + to) / 2) : median - 1
  const cut = new Date(Math.min(to - 1, Math.max(from + 1, wished)) * SECOND)
  return [
    { from: window.from, to: cut },
    { from: cut, to: window.to },
  ]
}

function toSeconds(moment: Date): number {
  return Math.floor(moment.getTime() / SECOND)
}

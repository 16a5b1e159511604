/** A stretch of a workout with one power from `from_s` to `to_s`, or a ramp from the one power to the other, W. */
export type ProfileStep = { from_s: number; to_s: number; from_watts: number; to_watts: number }

const LINE = /^\s*(\d+(?:\.\d+)?)\s+(\d+(?:\.\d+)?)\s*$/
/** Longer than any workout; a file with more lines is not one. */
const MOST_LINES = 10_000

/** Parses the course of a workout file of the format erg, whose lines are minutes and watts; empty when it has none. */
export function parseErgProfile(content: string): ProfileStep[] {
  const [, course = ''] = content.split('[COURSE DATA]')
  const points = course
    .split('[')[0]
    ?.split(/\r?\n/, MOST_LINES)
    .flatMap((line) => {
      const [, minutes, watts] = LINE.exec(line) ?? []
      return minutes === undefined ? [] : [{ at: Math.round(Number(minutes) * 60), watts: Number(watts) }]
    })
  const steps: ProfileStep[] = []
  let before: { at: number; watts: number } | undefined
  for (const point of points ?? []) {
    // Two lines of one minute are a step between two powers.
    if (before && point.at > before.at)
      steps.push({ from_s: before.at, to_s: point.at, from_watts: before.watts, to_watts: point.watts })
    before = point
  }
  return steps
}

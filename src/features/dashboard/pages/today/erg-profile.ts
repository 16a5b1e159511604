/** A part of a workout from `from_s` to `to_s`, at a constant power, W, or as a ramp. */
type ProfileStep = { from_s: number; to_s: number; from_watts: number; to_watts: number }

const LINE = /^\s*(\d+(?:\.\d+)?)\s+(\d+(?:\.\d+)?)\s*$/
/** Maximum number of lines to parse; no real workout has as many lines. */
const MAX_LINES = 10_000

/** Parses the steps of an ERG file, whose lines are minutes and watts; returns an empty array if the file has no such lines. */
export function parseErgProfile(content: string): ProfileStep[] {
  const [, course = ''] = content.split('[COURSE DATA]')
  const points = course
    .split('[')[0]
    ?.split(/\r?\n/, MAX_LINES)
    .flatMap((line) => {
      const [, minutes, watts] = LINE.exec(line) ?? []
      return minutes === undefined ? [] : [{ at: Math.round(Number(minutes) * 60), watts: Number(watts) }]
    })
  const steps: ProfileStep[] = []
  let before: { at: number; watts: number } | undefined
  for (const point of points ?? []) {
    // Two lines with the same minute change the power at once, so there is no ramp between them.
    if (before && point.at > before.at)
      steps.push({ from_s: before.at, to_s: point.at, from_watts: before.watts, to_watts: point.watts })
    before = point
  }
  return steps
}

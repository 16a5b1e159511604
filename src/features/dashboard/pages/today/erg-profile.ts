/** A part of a workout, W, from `from_s` to `to_s`, with constant power or a ramp. */
type ProfileStep = { from_s: number; to_s: number; from_watts: number; to_watts: number }

const LINE = /^\s*(\d+(?:\.\d+)?)\s+(\d+(?:\.\d+)?)\s*$/
/** The most lines, more than any workout has. */
const MAX_LINES = 10_000

/** Parses the power in an ERG file, whose lines are minutes and watts; empty without any. */
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
    // Two lines of one minute are a step.
    if (before && point.at > before.at)
      steps.push({ from_s: before.at, to_s: point.at, from_watts: before.watts, to_watts: point.watts })
    before = point
  }
  return steps
}

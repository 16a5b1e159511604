import { expect, it } from 'vitest'
import { normalizeActivity } from '../../../src/core/normalize/activity-answer.ts'
import { columnsOf } from '../../../src/core/service/wire/wire-activity.ts'
import { readTable } from '../../kit/table.ts'

const START_S = Date.UTC(2024, 4, 1, 6) / 1_000
const [HOUR_S, DAY_S] = [3_600, 86_400]
const CLOCKS: Readonly<Record<string, number>> = { 1989: -11_078 * DAY_S, 2100: 27_700 * DAY_S }

/**
 * Parses the seconds of a ride since its start: in `0-5 1989, 5-600` the first five are dated 1989. A number after a span is a clock error
 * in hours.
 */
function readSeconds(text: string): number[] {
  return text.split(',').flatMap((part) => {
    const [span = '', clock = '0'] = part.trim().split(' ')
    const [from = 0, to = 0] = span.split('-').map(Number)
    const by = CLOCKS[clock] ?? Number(clock) * HOUR_S
    return Array.from({ length: to - from }, (_, index) => from + index + by)
  })
}

// Columns: seconds, duration as sent by the service, time from first to last sample of the main run, samples outside it.
it.each(
  readTable(`
    no strays | 0-600 | 600 | 599 | 0
    5 of 600 samples at the start are dated 1989 | 0-5 1989, 5-600 | 600 | 594 | 5
    3 at the end are dated 2100 | 0-597, 597-600 2100 | 600 | 596 | 3
    3 at the end are dated 2100, without a duration | 0-597, 597-600 2100 | | 596 | 3
    some in the middle are dated 2100 | 0-300, 300-310 2100, 310-600 | 600 | 599 | 10
    some at the start and the end are wrong | 0-2 1989, 0-600, 0-3 2100 | 600 | 599 | 5
    some at the start are four days early | 0-5 -96, 5-600 | 594 | 594 | 5
    one at the end is 30 hours late | 0-600, 0-1 30 | 600 | 599 | 1
    one is a day early, as before a night | 0-1 -24, 0-600 | 600 | 86999 | 0
    the clock is set in the middle, so the later half counts | 0-300 1989, 300-600 | 600 | 299 | 300
    a ride of three days with nights | 0-600, 0-600 24, 0-600 48 | 172800 | 173399 | 0
    a ride with a rest day | 0-600, 0-600 48 | 1200 | 173399 | 0
    a ride with a rest day, without a duration | 0-600, 0-300 48 | | 173099 | 0
    one sample | 0-1 | 1 | 0 | 0
    two samples, one of them dated 1989 | 0-1 1989, 1-2 | 1 | 0 | 1`),
)('values are derived from the main run of a recording: %s', (_, text = '', duration, elapsed, strays) => {
  const seconds = readSeconds(text)
  const wire = columnsOf(seconds.map((at) => ({ unix_time: 1_000 * (START_S + at), power: 150, hr: 120 })))
  const answer = { session_data: wire ?? null, sigFtp: 200, duration: Number(duration) || null, drift: [] }
  const { row, run, samples: kept, powerCurve, intensity, measures } = normalizeActivity(answer).derived
  const found = [row.elapsedS, run.straySamples, kept.count]
  expect(found).toEqual([Number(elapsed), Number(strays), seconds.length])
  const counted = seconds.length - Number(strays)
  const zones = ([1, 2, 3, 4, 5, 6, 7] as const).map((zone) => intensity?.[`powerZ${zone}S`] ?? 0)
  expect(zones.reduce((sum, inZone) => sum + inZone, 0)).toBe(counted)
  expect(measures?.workKj).toBeCloseTo((150 * counted) / 1_000)
  expect(powerCurve?.points[0]).toEqual({ durationS: 1, watts: 150 })
  expect(powerCurve?.points.at(-1)?.durationS).toBe(Number(elapsed) + 1)
  const first = [...kept.t].find((t) => Math.abs(t / 1_000 - START_S) < 3 * DAY_S)
  expect(run.recordedFrom?.getTime()).toBe(first)
})

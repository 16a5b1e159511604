import { expect, it } from 'vitest'
import {
  formatDay,
  formatName,
  formatNumber,
  formatSpan,
  formatStopwatch,
  formatWallClock,
  lastOfMonths,
} from '../../../../src/features/dashboard/shared/format.ts'

it.each([
  [-0.04, 1, '0', '0'],
  [-12.34, 1, '−12.3', '−12.3'],
  [12.34, 1, '12.3', '+12.3'],
  [-1_234.5, 0, '−1,235', '−1,235'],
  [Number.NaN, 0, '–', '–'],
  [null, 0, '–', '–'],
])(
  '%s with %i decimals has a minus sign, not a hyphen, and no sign if it rounds to zero',
  (value, digits, ...words) => {
    expect([formatNumber(value, '', digits), formatNumber(value, '', digits, 'exceptZero')]).toEqual(words)
  },
)

it.each([
  ['', null],
  ['no name', ''],
  ['spaces', '  \t'],
  ['a space that does not break', '\u00a0\u2007\u202f'],
  ['a line or paragraph break', '\n\u2028\u2029'],
  ['a space of no width', '\u200b\u2060\ufeff'],
  ['a mark of direction', '\u200e\u202e'],
  ['a soft hyphen', '\u00ad'],
  ['a filler of Hangul', '\u115f\u3164\uffa0'],
  ['a blank of braille', '\u2800'],
  ['a variation selector or a tag', '\ufe0f\u{e0041}'],
  ['a control character', '\u0001\u007f\u0085'],
])('a name that is only %s counts as missing', (_what, name) => {
  expect([formatName(name), formatName(name, 'Activity')]).toEqual(['no name', 'Activity'])
  for (const one of ['.', '🚴', 'é', '\u200bRide ']) expect(formatName(one)).toBe(one)
})

it('times are formatted as stopwatch, span, local time and day, never from an instant', () => {
  for (const day of ['2026-11-18', Date.UTC(2026, 10, 18) / 1_000]) expect(formatDay(day)).toBe('18 Nov 2026')
  expect(() => formatDay('2026-11-18T23:30:00.000Z')).toThrow(RangeError)
  const stopwatch = [0, 59.6, 61, 3_599, 3_725].map((seconds) => formatStopwatch(seconds))
  expect(stopwatch).toEqual(['0:00', '1:00', '1:01', '59:59', '1:02:05'])
  const spans = [0, 60, 1_200, 5_400, 90_000].map(formatSpan)
  expect(spans).toEqual(['0 s', '1 min', '20 min', '1 h 30 min', '1 d 1 h'])
  expect(formatWallClock('2026-11-18T17:05:00')).toBe('Wed, 18 Nov 2026, 17:05')
  expect(formatWallClock(null)).toBe('no readable date')
  const at = ['2026-01-05', '2026-01-31T23:59:59Z', '2026-02-01', '2026-04-01'].map(
    (day) => Date.parse(day) / 1_000,
  )
  // The last index of each month.
  expect(lastOfMonths(at)).toEqual([1, 2, 3])
})

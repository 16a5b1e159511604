import { countOf } from '../../../../kit/text.ts'
import { formatNumber, formatSpan } from '../../shared/format.ts'
import type { View } from './queries.ts'

type Account = View['cards'][number]
type WeekDay = NonNullable<View['today']>['week'][number]

/** Describes the runs of a day by the daemon and by commands. */
export function describeRuns({ runs, failed, came, changed }: View['runs']): string {
  const brought = [
    came > 0 && `${countOf(came, 'new activity', 'new activities')}`,
    changed > 0 && `${formatNumber(changed)} changed`,
  ].filter(Boolean)
  const what = brought.join(', ') || 'no new or changed activities'
  const failures = failed > 0 ? `, ${countOf(failed, 'run', 'runs')} failed` : ''
  return `${countOf(runs, 'run', 'runs')} in the last 24 hours: ${what}${failures}.`
}

/** Describes how many activities are fetched, and how fast the others arrive. */
export function describeProgress(account: Account): string {
  const { activities, wanted, mirrored, seconds_to_go: seconds, fetched_per_minute: rate } = account
  const none = mirrored === 0 ? 'the first are being fetched' : 'none fetched in the last 5 minutes'
  const pace =
    seconds === null || rate === null ? none : `${formatNumber(rate)}/min, ${formatSpan(seconds)} to go`
  return `${formatNumber(activities - wanted)} of ${formatNumber(activities)} are fetched; ${pace}`
}

/** Compares the load of a week with the recommended load, only on days with a known recommendation. */
export function describeRecommended(week: readonly WeekDay[]): string {
  const known = week.filter(({ recommended_xss: xss }) => xss !== null)
  if (known.length === 0) return 'XSS; the service recommends no load yet'
  const sum = (of: (day: WeekDay) => number) => known.reduce((total, day) => total + of(day), 0)
  const total = sum(({ recommended_xss: xss }) => xss ?? 0)
  const recommended = formatNumber(total, 'XSS')
  if (known.length === week.length) return `of ${recommended} recommended`
  const days = known.length === 1 ? 'one day' : `${known.length} days`
  return `XSS; ${formatNumber(sum(({ xss }) => xss))} of the ${recommended} recommended for ${days}`
}

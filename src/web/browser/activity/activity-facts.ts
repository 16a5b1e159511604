import type { ActivityFacts } from '../../../store/dashboard/page-rows.ts'
import type { ActivityView, Serialized } from '../../dashboard/dashboard-types.ts'
import { type Child, make, makeBadge } from '../dom.ts'
import { formatDistance, formatHeight, formatNumber, formatStopwatch, formatWallClock } from '../format.ts'
import { makeAgo, makeNotice, type Problem } from '../live.ts'

type Facts = Serialized<ActivityFacts>

/** Makes the head of the page: name, type, start, description, and links to the older and the newer activity. */
export function makeHeading({ facts, older_id: older, newer_id: newer }: Serialized<ActivityView>): Child[] {
  const isBreakthrough = (facts.breakthrough ?? 0) > 0
  const zone = facts.timezone === null ? '' : ` (${facts.timezone})`
  return [
    make(
      'nav',
      { class: 'neighbours', 'aria-label': 'Neighbouring activities' },
      older !== null && make('a', { href: `/activities/${older}`, rel: 'prev' }, '← Older'),
      newer !== null && make('a', { href: `/activities/${newer}`, rel: 'next' }, 'Newer →'),
    ),
    make(
      'h1',
      {},
      facts.name || 'Without a name',
      isBreakthrough && ' ',
      isBreakthrough && makeBadge('breakthrough', 'good'),
    ),
    make(
      'p',
      { class: 'quiet' },
      [facts.activity_type, `${formatWallClock(facts.started_at_local)}${zone}`].filter(Boolean).join(' · '),
    ),
    facts.description ? make('p', { class: 'description' }, facts.description) : null,
  ]
}

/** Makes the notice that the activity is gone, failed, or not complete yet; none when all is well. */
export function makeNotices(facts: Facts): Child[] {
  const problem = problemOf(facts)
  return problem ? [makeNotice(problem)] : []
}

function problemOf({
  absent_since: gone,
  detail_state: state,
  fetch_error: reason,
  path,
}: Facts): Problem | undefined {
  if (gone !== null)
    return {
      text: 'The service does not list this activity any more. It stays here, and no sum or view counts it.',
    }
  const why = reason ?? 'no reason is known'
  const states: Readonly<Record<string, Problem>> = {
    failed: {
      text: `The last answer could not be used: ${why}. It is fetched again by itself; to do it now, type:`,
      command: `musette resync ${path}`,
    },
    wanted: { calm: true, text: 'This activity is about to be fetched; it appears here by itself.' },
    awaiting_samples: {
      calm: true,
      text: 'The service has no samples of this activity yet. They are fetched by themselves when it has.',
    },
  }
  return states[state]
}

/** Makes the numbers of the activity, and where they come from. */
export function makeFacts(facts: Facts): Child[] {
  const numbers = numbersOf(facts).filter(([, value]) => value !== '–' && value !== '')
  const pairs = numbers.map(([name, value, note]) =>
    make('div', {}, make('dt', {}, name), make('dd', {}, value, note ? make('small', {}, note) : null)),
  )
  return [
    make('h2', { class: 'hidden' }, 'Numbers'),
    make('dl', { class: 'numbers wide' }, ...pairs),
    make(
      'p',
      { class: 'quiet' },
      facts.fetched_at && 'Fetched ',
      facts.fetched_at && makeAgo(facts.fetched_at),
      facts.fetched_at && '. ',
      facts.revisions > 0 &&
        `The service has changed it ${facts.revisions === 1 ? 'once' : `${facts.revisions} times`}. `,
      facts.file_name !== null && `It came from the file ${facts.file_name}. `,
      'Every second of it: ',
      make('code', {}, `musette export ${facts.path} --format csv`),
    ),
  ]
}

function numbersOf(facts: Facts): ReadonlyArray<[name: string, value: string, note?: string]> {
  const parts = [facts.xlss, facts.xhss, facts.xpss]
  const known = parts.some((part) => part !== null)
  const split = parts.map((part) => formatNumber(part, '', 1)).join(' / ')
  return [
    ['Time', formatStopwatch(facts.elapsed_s)],
    ['Distance', formatDistance(facts.distance_km)],
    ['XSS', formatNumber(facts.xss, '', 1), known ? `low / high / peak ${split}` : ''],
    ['Power', formatNumber(facts.avg_power, 'W'), `highest ${formatNumber(facts.max_power, 'W')}`],
    ['Climbed', formatHeight(facts.elevation_gain_m)],
    ['Energy', formatNumber(facts.energy_kcal, 'kcal')],
    ['Highest cadence', formatNumber(facts.max_cadence, '/min')],
    ['FTP after it', formatNumber(facts.sig_ftp, 'W'), changeOf(facts.prev_sig_ftp, facts.sig_ftp)],
    ['Peak power after it', formatNumber(facts.sig_pp, 'W')],
    ['Difficulty', formatNumber(facts.difficulty), facts.difficulty_rating ?? ''],
    ['Focus', facts.focus ?? '', facts.specificity ?? ''],
    ['Freshness', facts.freshness ?? ''],
  ]
}

function changeOf(before: number | null, after: number | null): string {
  if (before === null || after === null) return ''
  const change = after - before
  if (Math.abs(change) < 0.05) return 'unchanged'
  return `${change > 0 ? '+' : '−'}${formatNumber(Math.abs(change), 'W', 1)}`
}

import type { ActivityFacts } from '../../../store/dashboard/page-rows.ts'
import type { ActivityView, Serialized } from '../../dashboard/dashboard-types.ts'
import { type Child, make, makeBadge } from '../dom.ts'
import {
  formatDistance,
  formatHeight,
  formatNumber,
  formatSpeed,
  formatStopwatch,
  formatWallClock,
} from '../format.ts'
import { makeAgo, makeNotice, type Problem } from '../live.ts'
import type { Summary } from './stretch-summary.ts'

type Facts = Serialized<ActivityFacts>

/** Makes the head of the page: name, type, start, description, and links to the older and the newer activity. */
export function makeHeading(view: Serialized<ActivityView>): Child[] {
  const { facts, older_id: older, newer_id: newer, several } = view
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
      [several && facts.account, facts.activity_type, `${formatWallClock(facts.started_at_local)}${zone}`]
        .filter(Boolean)
        .join(' · '),
    ),
    facts.description ? make('p', { class: 'description' }, facts.description) : null,
  ]
}

/** Makes the notice that the activity is gone, failed, or not complete yet; none when all is well. */
export function makeNotices({ facts, command }: { facts: Facts; command: string }): Child[] {
  const problem = problemOf(facts, command)
  return problem ? [makeNotice(problem)] : []
}

function problemOf(
  { absent_since: gone, detail_state: state, fetch_error: reason }: Facts,
  command: string,
): Problem | undefined {
  if (gone !== null)
    return {
      text: 'The service does not list this activity any more. It stays here, and no sum or view counts it.',
    }
  const why = reason ?? 'no reason is known'
  const states: Readonly<Record<string, Problem>> = {
    failed: {
      text: `The last answer could not be used: ${why}. It is fetched again by itself; to do it now, type:`,
      command,
    },
    wanted: { calm: true, text: 'This activity is about to be fetched; it appears here by itself.' },
    awaiting_samples: {
      calm: true,
      text: 'The service has no samples of this activity yet. They are fetched by themselves when it has.',
    },
  }
  return states[state]
}

/** Makes the numbers of the activity, and where they come from; `summary` once its samples are here. */
export function makeFacts(facts: Facts, summary: Summary | undefined): Child[] {
  const numbers = numbersOf(facts, summary).filter(([, value]) => value !== '–' && value !== '')
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
    ),
    summary?.weighted_w != null ? make('p', { class: 'quiet' }, WEIGHTED) : null,
  ]
}

const WEIGHTED =
  'Weighted mean power: the fourth root of the mean of P⁴, where P is the mean power of every 30 s; pauses of the recording are ' +
  'left out. Work, moving time, means and extremes are derived from the samples, power from that of each second before ' +
  'smoothing where the activity has it.'

function numbersOf(
  facts: Facts,
  summary: Summary | undefined,
): ReadonlyArray<[name: string, value: string, note?: string]> {
  const parts = [facts.xlss, facts.xhss, facts.xpss]
  const known = parts.some((part) => part !== null)
  const split = parts.map((part) => formatNumber(part, '', 1)).join(' / ')
  const power = summary?.power.mean ?? facts.avg_power
  return [
    ['Time', formatStopwatch(facts.elapsed_s), movingOf(summary)],
    ['Distance', formatDistance(facts.distance_km), speedOf(summary)],
    ['XSS', formatNumber(facts.xss, '', 1), known ? `low / high / peak ${split}` : ''],
    ['Power', formatNumber(power, 'W'), highestOf(facts, summary)],
    ['Weighted mean power', formatNumber(summary?.weighted_w, 'W'), perKg(summary?.weighted_w, facts)],
    [
      'Per kilogram',
      perKg(power, facts),
      facts.weight_kg === null ? '' : `of ${formatNumber(facts.weight_kg, 'kg', 1)}`,
    ],
    ['Work', formatNumber(summary?.work_kj, 'kJ'), energyOf(facts)],
    ['Climbed', formatHeight(facts.elevation_gain_m)],
    ['Heart rate', formatNumber(summary?.hr.mean, '/min'), extremeOf(summary?.hr.highest, '/min')],
    [
      'Cadence',
      formatNumber(summary?.cad.mean, '/min'),
      extremeOf(summary?.cad.highest ?? facts.max_cadence, '/min'),
    ],
    ['FTP after it', formatNumber(facts.sig_ftp, 'W'), changeOf(facts.prev_sig_ftp, facts.sig_ftp)],
    ['Peak power after it', formatNumber(facts.sig_pp, 'W'), changeOf(facts.prev_sig_pp, facts.sig_pp)],
    [
      'Carbohydrate',
      formatNumber(facts.carbs_g, 'g'),
      facts.fat_g === null ? '' : `fat ${formatNumber(facts.fat_g, 'g')}`,
    ],
    ['Difficulty', formatNumber(facts.difficulty), facts.difficulty_rating ?? ''],
    ['Focus', facts.focus ?? '', facts.specificity ?? ''],
    ['Freshness', facts.freshness ?? ''],
  ]
}

function movingOf(summary: Summary | undefined): string {
  if (!summary) return ''
  if (summary.moving_s !== null) return `moving ${formatStopwatch(summary.moving_s)}`
  return `recorded ${formatStopwatch(summary.recorded_s)}`
}

function speedOf(summary: Summary | undefined): string {
  if (!summary?.distance_m || !summary.moving_s) return ''
  const moving = (summary.distance_m / summary.moving_s) * 3.6
  return `${formatSpeed(moving)} moving, highest ${formatSpeed(summary.speed_kmh.highest)}`
}

/** The service smooths its highest power; the power curve of one second does not. */
function highestOf(facts: Facts, summary: Summary | undefined): string {
  const own = summary?.power.highest ?? null
  if (own === null) return extremeOf(facts.max_power, 'W')
  const differs = facts.max_power !== null && Math.abs(facts.max_power - own) >= 1
  return `highest ${formatNumber(own, 'W')}${differs ? `, ${formatNumber(facts.max_power, 'W')} by the service` : ''}`
}

function extremeOf(highest: number | null | undefined, unit: string): string {
  return highest === null || highest === undefined ? '' : `highest ${formatNumber(highest, unit)}`
}

function perKg(watts: number | null | undefined, { weight_kg: kg }: Facts): string {
  if (watts === null || watts === undefined || kg === null || kg <= 0) return ''
  return formatNumber(watts / kg, 'W/kg', 2)
}

function energyOf({ energy_kcal: kcal }: Facts): string {
  return kcal === null ? '' : `${formatNumber(kcal, 'kcal')} by the service`
}

const FORMATS: ReadonlyArray<[format: string, text: string]> = [
  ['csv', 'CSV'],
  ['json', 'JSON'],
  ['parquet', 'Parquet'],
]

/** Makes the links that download every second of the activity. */
export function makeDownloads({ activity_id: id, sample_count: count, has_fit: fit, path }: Facts): Child[] {
  const formats = [...(count ? FORMATS : []), ...(fit ? [['fit', 'Original FIT'] as const] : [])]
  if (formats.length === 0) return []
  const links = formats.map(([format, text]) =>
    make('a', { href: `/activities/${id}/download?format=${format}`, download: true }, text),
  )
  return [
    make(
      'div',
      { class: 'choice downloads', role: 'group', 'aria-label': 'Download every second of it' },
      make('span', { class: 'quiet' }, 'Download every second of it: '),
      ...links,
      make('span', { class: 'quiet' }, ' or type ', make('code', {}, `musette export ${path} --format csv`)),
    ),
  ]
}

function changeOf(before: number | null, after: number | null): string {
  if (before === null || after === null) return ''
  const change = after - before
  if (Math.abs(change) < 0.05) return 'unchanged'
  return `${change > 0 ? '+' : '−'}${formatNumber(Math.abs(change), 'W', 1)}`
}

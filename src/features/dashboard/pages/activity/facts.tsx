import {
  formatDistance,
  formatHeight,
  formatName,
  formatNumber,
  formatPerKg,
  formatSpeed,
  formatStopwatch,
  formatWallClock,
  nameOr,
  note,
} from '../../shared/format.ts'
import {
  ActivityBadge,
  Ago,
  knownOf,
  Link,
  type NamedNumber,
  Notice,
  Numbers,
  type Problem,
} from '../../shared/parts.tsx'
import { ROOT } from '../../shared/root.ts'
import type { View } from './queries.ts'
import type { Summary } from './summarize.ts'

type Facts = View['facts']
type Measures = NonNullable<View['measures']>

/** The top of the page: name, type, start, description, and links to the older and the newer activity. */
export function Heading({ view: { facts, older_id: older, newer_id: newer, several } }: { view: View }) {
  const zone = facts.timezone === null ? '' : ` (${facts.timezone})`
  const name = nameOr(facts.name, 'No name')
  const short = formatName(name)
  const start = `${formatWallClock(facts.started_at_local)}${zone}`
  return (
    <>
      <nav class="neighbours" aria-label="Other activities">
        {older !== null && (
          <Link to={`/activities/${older}`} rel="prev">
            ← Older
          </Link>
        )}
        <Link to="/activities">All activities</Link>
        {newer !== null && (
          <Link to={`/activities/${newer}`} rel="next">
            Newer →
          </Link>
        )}
      </nav>
      <h1>
        {short} <ActivityBadge detail_state="" breakthrough={facts.breakthrough} />
      </h1>
      <p class="quiet">
        {[several && facts.account, facts.activity_type, start].filter(Boolean).join(' · ')}
      </p>
      {short !== name && <p class="description">{name}</p>}
      {facts.description && <p class="description">{facts.description}</p>}
    </>
  )
}

/** The notice about an activity that is absent, failed or incomplete; nothing for other activities. */
export function StateNotice({ facts, command }: { facts: Facts; command: string }) {
  const { absent_since: gone, detail_state: state, fetch_error: reason } = facts
  const why = reason ?? 'the reason is unknown'
  const problems: Readonly<Record<string, Problem>> = {
    gone: {
      text: 'The service no longer lists this activity. It stays here, but no sum or view counts it.',
    },
    failed: {
      text: `This activity could not be fetched: ${why}. musette will retry; to retry now, run:`,
      command,
    },
    wanted: { calm: true, text: 'This activity is about to be fetched and will appear here.' },
    awaiting_samples: {
      calm: true,
      text: 'The service has no samples of this activity yet. musette will fetch them when they are available.',
    },
  }
  const problem = problems[gone === null ? state : 'gone']
  return problem ? <Notice {...problem} /> : null
}

/** The numbers of the activity, each with its origin; `summary` is undefined until the samples arrive. */
export function FactsList({ facts, measures, summary }: Given) {
  const { revisions, fetched_at: fetchedAt, file_name: file } = facts
  return (
    <>
      <h2 class="hidden">Numbers</h2>
      <Numbers wide numbers={knownOf(numbersOf({ facts, measures, summary }))} />
      <p class="quiet">
        {fetchedAt && (
          <>
            Fetched <Ago at={fetchedAt} />.{' '}
          </>
        )}
        {revisions > 0 && `Changed by the service ${revisions === 1 ? 'once' : `${revisions} times`}. `}
        {file !== null && `Uploaded from the file ${formatName(file)}. `}
        {facts.sig_manual && 'You set the signature at the service. '}
        {facts.sig_error && `Signature error from the service: ${formatName(facts.sig_error)}. `}
      </p>
      {measures?.weightedPower != null && <p class="quiet">{WEIGHTED}</p>}
    </>
  )
}

const WEIGHTED =
  'Weighted mean power: the fourth root of the mean of P⁴, where P is the rolling mean power over 30 s; recording pauses count as zero. ' +
  'Intensity is weighted mean power divided by threshold power. Work, moving time, means and extremes are derived from the samples; power ' +
  'from unsmoothed samples if the activity has them.'

type Given = { facts: Facts; measures: Measures | null; summary: Summary | undefined }

function numbersOf({ facts, measures, summary }: Given): readonly NamedNumber[] {
  const m: Partial<Measures> = measures ?? {}
  const { weight_kg: kg } = facts
  const parts = [facts.xlss, facts.xhss, facts.xpss]
  const split = parts.map((part) => formatNumber(part, '', 1)).join(' / ')
  const power = m.meanPower ?? facts.avg_power
  const recorded = note`recorded ${formatStopwatch(summary?.recorded_s)}`
  const heart = [
    note`highest ${formatNumber(summary?.hr.highest, 'bpm')}`,
    note`20 min ${formatNumber(m.bestHr20Min, 'bpm')}`,
  ]
  const cadence = formatNumber(summary?.cad.highest ?? facts.max_cadence, 'rpm')
  const climb = m.longestClimbLengthM
  return [
    ['Time', formatStopwatch(facts.elapsed_s), note`moving ${formatStopwatch(m.movingS)}` || recorded],
    ['Distance', formatDistance(facts.distance_km), speedOf(facts, m.movingS, summary)],
    [
      'XSS',
      formatNumber(facts.xss, '', 1),
      parts.every((part) => part === null) ? '' : `low / high / peak ${split}`,
    ],
    ['Power', formatNumber(power, 'W'), highestOf(facts, summary)],
    ['Weighted mean power', formatNumber(m.weightedPower, 'W'), formatPerKg(m.weightedPower, kg)],
    ['Intensity', formatNumber(m.intensity, '', 2), note`variability ${formatNumber(m.variability, '', 2)}`],
    ['Per kilogram', formatPerKg(power, kg), note`of ${formatNumber(kg, 'kg', 1)}`],
    [
      'Work',
      formatNumber(m.workKj, 'kJ'),
      note`${formatNumber(facts.total_calories, 'kcal')} by the service`,
    ],
    [
      'Best 20 min after 1,000 kJ',
      formatNumber(m.best20MinAfter1000Kj, 'W'),
      note`after 2,000 kJ ${formatNumber(m.best20MinAfter2000Kj, 'W')}`,
    ],
    [
      'Climbed',
      formatHeight(facts.total_elevation_gain ?? m.ascentM),
      note`${formatHeight(m.ascentM)} by the samples`,
    ],
    [
      'Longest climb',
      formatDistance(climb && climb / 1_000),
      note`${formatHeight(m.longestClimbGainM)}, ${formatNumber(m.longestClimbVam, 'm/h')}`,
    ],
    [
      'Steepest climb',
      formatNumber(m.steepestClimbGradePct, '%', 1),
      note`${formatHeight(m.steepestClimbGainM)}`,
    ],
    ['Coasting', formatNumber(m.coastingPct, '%'), 'of the moving time'],
    ['Heart rate', formatNumber(m.meanHr, 'bpm'), heart.filter(Boolean).join(', ')],
    ['Watts per heartbeat', formatNumber(m.efficiency, '', 2), 'of the weighted mean power'],
    [
      'Aerobic decoupling',
      formatNumber(m.decouplingPct, '%', 1),
      note`heart rate ${formatNumber(m.hrDriftPct, '%', 1, 'exceptZero')}`,
    ],
    ['Cadence', formatNumber(summary?.cad.mean, 'rpm'), note`highest ${cadence}`],
    ['FTP afterwards', formatNumber(facts.sig_ftp, 'W'), changeOf(facts.prev_sig_ftp, facts.sig_ftp)],
    ['Peak power afterwards', formatNumber(facts.sig_pp, 'W'), changeOf(facts.prev_sig_pp, facts.sig_pp)],
    [
      'Carbohydrate',
      formatNumber(facts.total_grams_carbs, 'g'),
      note`fat ${formatNumber(facts.total_grams_fat, 'g')}`,
    ],
    ['Difficulty', formatNumber(facts.difficulty), facts.difficulty_rating ?? ''],
    ['Focus', facts.focus ?? '', facts.specificity ?? ''],
    ['Freshness', facts.freshness ?? ''],
  ]
}

function speedOf({ sport }: Facts, movingS: number | null | undefined, summary: Summary | undefined): string {
  if (!summary?.distance_m || !movingS) return ''
  const moving = (summary.distance_m / movingS) * 3.6
  return `${formatSpeed(moving, sport)} moving, highest ${formatSpeed(summary.speed_kmh.highest, sport)}`
}

/** Formats the highest power; adds the service's value if it differs, because the service smooths it. */
function highestOf(facts: Facts, summary: Summary | undefined): string {
  const own = summary?.power.highest ?? null
  const theirs = formatNumber(facts.max_power, 'W')
  if (own === null) return note`highest ${theirs}`
  const differs = facts.max_power !== null && Math.abs(facts.max_power - own) >= 1
  return `highest ${formatNumber(own, 'W')}${differs ? `, ${theirs} by the service` : ''}`
}

const FORMAT_NAMES: Readonly<Record<string, string>> = {
  csv: 'CSV',
  json: 'JSON',
  parquet: 'Parquet',
  fit: 'Original FIT',
  gpx: 'GPX',
  tcx: 'TCX',
  geojson: 'GeoJSON',
}

/** The links to download every second of the activity. */
export function Downloads({ view: { facts, downloads } }: { view: View }) {
  const { activity_id: id, sample_count: count, has_fit: hasFit, has_positions: hasPositions, path } = facts
  const needs: Readonly<Record<string, boolean>> = { fit: hasFit, gpx: hasPositions, geojson: hasPositions }
  const formats = downloads.filter((format) => needs[format] ?? count)
  if (formats.length === 0) return null
  return (
    <div class="choice downloads" role="group" aria-label="Download every second">
      <span class="quiet">Download every second: </span>
      {formats.map((format) => (
        <a key={format} href={`${ROOT}/activities/${id}/download?format=${format}`} download="">
          {FORMAT_NAMES[format] ?? format}
        </a>
      ))}
      <span class="quiet">
        {' '}
        or type <code>musette export {path} --format csv</code>
      </span>
    </div>
  )
}

function changeOf(before: number | null, after: number | null): string {
  if (before === null || after === null) return ''
  const change = after - before
  if (Math.abs(change) < 0.05) return 'unchanged'
  return formatNumber(change, 'W', 1, 'exceptZero')
}

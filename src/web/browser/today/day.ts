import type { AccountToday, Serialized } from '../../dashboard/dashboard-types.ts'
import { type Child, make } from '../dom.ts'
import { formatDay, formatDistance, formatNumber, formatSpan, formatWeekday } from '../format.ts'
import { type Column, makeDetails, makeTable } from '../table.ts'
import { makeProfile, makeSparkline, makeWeekBars } from './small-charts.ts'

type Today = Serialized<AccountToday>
type Day = Today['week'][number]
type Step = NonNullable<Today['workout']>['profile'][number]

/** Makes the cards of the day: form, signature, week and workout. */
export function makeDay({ today }: { today: Today | null }): Child[] {
  if (today === null) return []
  if (today.fitness === null && today.signature.at.length === 0)
    return [
      make(
        'p',
        { class: 'quiet' },
        'Form, signature and workout appear here with the first training info. The daemon fetches it by itself; to do it now, type ',
        make('code', {}, today.sync_command),
      ),
    ]
  return [
    make('div', { class: 'day' }, makeForm(today), makeSignature(today), makeWeek(today), makeWorkout(today)),
  ]
}

function makeCard(title: string, name: string, ...children: readonly Child[]): HTMLElement {
  const id = `${name}-card`
  return make(
    'section',
    { class: `card ${name}`, 'aria-labelledby': id },
    make('h2', { id }, title),
    ...children,
  )
}

function makeValue(value: string, ...notes: readonly Child[]): HTMLElement {
  return make(
    'p',
    { class: 'value' },
    make('strong', {}, value),
    ' ',
    make('span', { class: 'quiet' }, ...notes),
  )
}

function makeForm({ fitness, form, form_trend: trend }: Today): HTMLElement {
  const loads: ReadonlyArray<[string, number | null | undefined]> = [
    ['Form', form?.form],
    ['Training load', fitness?.tl_total ?? form?.training_load],
    ['Recovery load', form?.recovery_load],
  ]
  return makeCard(
    'Form',
    'form',
    makeValue(fitness?.status ?? form?.freshness ?? '–'),
    makeSparkline({
      label: 'Form after each ride of the last 90 days',
      at: trend.at,
      values: trend.form,
      least: 10,
    }),
    makeNumbers(loads.map(([name, value]) => [name, formatSigned(name, value)])),
    form &&
      make(
        'p',
        { class: 'quiet' },
        `Form and recovery load are those after the ride of ${formatDay(form.day)}.`,
      ),
  )
}

function formatSigned(name: string, value: number | null | undefined): string {
  const text = formatNumber(value === null || value === undefined ? value : Math.abs(value), '', 1)
  if (name !== 'Form' || value === null || value === undefined || Math.abs(value) < 0.05) return text
  return `${value > 0 ? '+' : '−'}${text}`
}

function makeSignature({ fitness, signature }: Today): HTMLElement {
  const { ftp, weight_kg: kg, ltp, hie_kj: hie, pp } = fitness ?? {}
  const perKg = ftp && kg ? `${formatNumber(ftp / kg, 'W/kg', 2)}` : ''
  return makeCard(
    'Signature',
    'signature',
    makeValue(formatNumber(ftp, 'W'), ['FTP', perKg].filter(Boolean).join(', ')),
    makeSparkline({
      label: 'FTP of the last 90 days, W',
      at: signature.at,
      values: signature.ftp,
      least: 10,
    }),
    make('p', { class: 'quiet' }, trendOf(signature)),
    makeNumbers([
      ['LTP', formatNumber(ltp, 'W')],
      ['HIE', formatNumber(hie, 'kJ', 1)],
      ['Peak power', formatNumber(pp, 'W')],
    ]),
  )
}

function trendOf({ ftp, ftp_six_weeks_ago: before }: Today['signature']): string {
  const now = ftp.at(-1)
  if (now === undefined || before === null) return 'No FTP of six weeks ago to compare with.'
  const change = now - before
  if (Math.abs(change) < 0.5) return 'As six weeks ago; the line is the FTP of 90 days.'
  const sign = change > 0 ? 'up' : 'down'
  return `${formatNumber(Math.abs(change), 'W', 1)} ${sign} in six weeks; the line is the FTP of 90 days.`
}

const WEEK: readonly Column<Day>[] = [
  { title: 'Day', names: true, cell: ({ day }) => formatWeekday(day) },
  { title: 'Done', number: true, cell: ({ xss }) => formatNumber(xss, 'XSS') },
  { title: 'Recommended', number: true, cell: ({ recommended_xss }) => formatNumber(recommended_xss, 'XSS') },
  { title: 'Time', number: true, cell: ({ elapsed_s }) => (elapsed_s > 0 ? formatSpan(elapsed_s) : '') },
  {
    title: 'Distance',
    number: true,
    cell: ({ distance_km }) => (distance_km > 0 ? formatDistance(distance_km) : ''),
  },
]

function makeWeek({ week, day }: Today): HTMLElement {
  const sum = (of: (day: Day) => number) => week.reduce((total, each) => total + of(each), 0)
  const known = week.filter(({ recommended_xss: xss }) => xss !== null)
  const recommended = known.reduce((total, { recommended_xss: xss }) => total + (xss ?? 0), 0)
  const note =
    known.length === 0
      ? 'the service recommends no load yet'
      : `of ${formatNumber(recommended, 'XSS')} recommended${known.length < 7 ? `, which is known of ${known.length === 1 ? 'one day' : `${known.length} days`}` : ''}`
  return makeCard(
    'This week',
    'week',
    makeValue(formatNumber(sum(({ xss }) => xss)), note),
    makeWeekBars(week, day),
    makeNumbers([
      ['Time', formatSpan(sum(({ elapsed_s }) => elapsed_s)).replace('0 s', '0 h')],
      ['Distance', formatDistance(sum(({ distance_km }) => distance_km))],
      ['Activities', formatNumber(sum(({ activities }) => activities))],
    ]),
    makeDetails(
      makeTable('Load of each day; the recommendation of days to come is that of today', WEEK, week),
    ),
  )
}

const STEPS: readonly Column<Step>[] = [
  { title: 'From', names: true, cell: ({ from_s }) => formatSpan(from_s) },
  { title: 'For', number: true, cell: ({ from_s, to_s }) => formatSpan(to_s - from_s) },
  { title: 'Power', number: true, cell: powerOf },
]

function powerOf({ from_watts: from, to_watts: to }: Step): string {
  return from === to ? formatNumber(from, 'W') : `${formatNumber(from)} to ${formatNumber(to, 'W')}`
}

function makeWorkout({ workout, fitness, account_id: id }: Today): HTMLElement {
  if (workout === null)
    return makeCard(
      'Workout of the day',
      'workout',
      make('p', { class: 'quiet' }, 'The service names no workout for today.'),
    )
  const { profile, formats } = workout
  const length = profile.at(-1)?.to_s ?? 0
  const facts = [
    workout.type,
    workout.difficulty !== null && `difficulty ${formatNumber(workout.difficulty)}`,
    length > 0 && formatSpan(length),
  ]
  const links = formats.map((format) =>
    make(
      'a',
      { href: `/workouts-of-the-day/${id}.${format}`, download: true, class: 'button' },
      `Download .${format}`,
    ),
  )
  return makeCard(
    'Workout of the day',
    'workout',
    make('p', { class: 'value' }, make('strong', {}, workout.name || 'Without a name')),
    make('p', { class: 'quiet' }, facts.filter(Boolean).join(' · ')),
    profile.length > 0 && makeProfile(profile, fitness?.ftp ?? null),
    workout.description ? make('p', { class: 'description' }, workout.description) : null,
    formats.length > 0
      ? make('p', { class: 'links' }, ...links)
      : make('p', { class: 'quiet' }, 'Its file has not been fetched yet.'),
    profile.length > 0 && makeDetails(makeTable('The steps of the workout', STEPS, profile)),
  )
}

function makeNumbers(numbers: ReadonlyArray<readonly [name: string, value: string]>): HTMLElement {
  const pairs = numbers.map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value)))
  return make('dl', { class: 'numbers' }, ...pairs)
}

import type { LoadColumns, SignatureColumns, WeekColumns } from '../../../store/dashboard/page-rows.ts'
import type { Serialized } from '../../dashboard/dashboard-types.ts'
import { makeDayAxis } from '../charts/axes.ts'
import { type Chart, type Lane, makeChart } from '../charts/chart.ts'
import { type Child, make } from '../dom.ts'
import { formatDay, formatNumber, lastOfMonths } from '../format.ts'
import { type Column, makeDetails, makeSection, makeTable } from '../table.ts'

const SIGNATURE: readonly Lane[] = [
  {
    unit: 'W',
    height: 220,
    spanGaps: true,
    lines: [
      { key: 'ftp', label: 'FTP', unit: 'W', colour: 'power', look: 'line', digits: 1 },
      { key: 'ltp', label: 'LTP', unit: 'W', colour: 'best', look: 'dashed', digits: 1 },
    ],
  },
  {
    unit: 'kJ',
    height: 140,
    spanGaps: true,
    lines: [{ key: 'hie_kj', label: 'HIE', unit: 'kJ', colour: 'mpa', look: 'line', digits: 1 }],
  },
  {
    unit: 'W',
    height: 150,
    spanGaps: true,
    lines: [{ key: 'pp', label: 'Peak power', unit: 'W', colour: 'heart', look: 'line' }],
  },
]

/** Makes the plot of the signature over time, and its table. */
export function makeSignature({ at, ...lines }: Serialized<SignatureColumns>, spans: Spans): Child[] {
  return makeHistory(
    {
      id: 'signature',
      title: 'Signature',
      label: 'Signature over time: threshold powers, high-intensity energy, peak power',
      lanes: SIGNATURE,
      caption:
        'Threshold power (FTP), lower threshold (LTP), high-intensity energy (HIE; of rides it is derived from the number atc, ' +
        'whose unit the service does not give) and peak power, after each ride and in the training info since.',
    },
    { at, lines },
    spans,
  )
}

const LOAD: readonly Lane[] = [
  {
    unit: 'load',
    height: 220,
    spanGaps: true,
    lines: [
      { key: 'training_load', label: 'Training load', unit: '', colour: 'power', look: 'line', digits: 1 },
      { key: 'recovery_load', label: 'Recovery load', unit: '', colour: 'mpa', look: 'dashed', digits: 1 },
    ],
  },
  {
    unit: 'form',
    height: 150,
    spanGaps: true,
    lines: [{ key: 'form', label: 'Form', unit: '', colour: 'best', look: 'line', digits: 1 }],
  },
]

/** Makes the plot of loads and form after each activity, and its table. */
export function makeLoad({ at, ...lines }: Serialized<LoadColumns>, spans: Spans): Child[] {
  const last = (column: ReadonlyArray<number | null>) => formatNumber(column.at(-1), '', 1)
  return makeHistory(
    {
      id: 'load',
      title: 'Load and form',
      label: 'Training load, recovery load and form after each ride',
      lanes: LOAD,
      caption:
        `After the last ride: training load ${last(lines.training_load)}, recovery load ${last(lines.recovery_load)}, ` +
        `form ${last(lines.form)}. The service gives no units of these.`,
    },
    { at, lines },
    spans,
  )
}

type Week = { monday: number; activities: number; low: number; high: number; peak: number; xss: number }

const WEEK_S = 7 * 86_400
/** Two years of weeks are a long table already. */
const WEEKS_SHOWN = 104

const WEEK_LANES: readonly Lane[] = [
  {
    unit: 'XSS a week',
    height: 200,
    fromZero: true,
    stacked: true,
    lines: [
      { key: 'low', label: 'Low', unit: 'XSS', colour: 'low', look: 'bars' },
      { key: 'high', label: 'High', unit: 'XSS', colour: 'high', look: 'bars' },
      { key: 'peak', label: 'Peak', unit: 'XSS', colour: 'peak', look: 'bars' },
    ],
  },
]

const WEEKS: readonly Column<Week>[] = [
  { title: 'Week of', names: true, cell: ({ monday }) => formatDay(monday) },
  { title: 'Activities', number: true, cell: ({ activities }) => formatNumber(activities) },
  { title: 'Low', number: true, cell: ({ low }) => formatNumber(low) },
  { title: 'High', number: true, cell: ({ high }) => formatNumber(high) },
  { title: 'Peak', number: true, cell: ({ peak }) => formatNumber(peak) },
  { title: 'XSS', number: true, cell: ({ xss }) => formatNumber(xss) },
]

/** Makes the plot of the weeks' training load scores, and its table. */
export function makeWeeks(
  { monday, activities, low_xss: low, high_xss: high, peak_xss: peak, xss }: Serialized<WeekColumns>,
  spans: Spans,
): Child[] {
  if (monday.length === 0) return []
  // A bar stands on the days of its week, so the axis goes on to the end of the last one.
  const end = (monday.at(-1) ?? 0) + WEEK_S
  const chart = makeChart(
    { label: 'Training load score of each week', x: makeDayAxis(), lanes: WEEK_LANES },
    { x: [...monday, end], lines: { low: [...low, null], high: [...high, null], peak: [...peak, null] } },
  )
  spans.follow('weeks', chart, end)
  const rows = monday.map((day, index) => ({
    monday: day,
    activities: activities[index] ?? 0,
    low: low[index] ?? 0,
    high: high[index] ?? 0,
    peak: peak[index] ?? 0,
    xss: xss[index] ?? 0,
  }))
  const caption = 'Sums of the activities’ training load scores (XSS) by the week of their own local day.'
  return [
    makeSection(
      'weeks-title',
      'Weeks',
      make('figure', {}, chart.element, make('figcaption', {}, caption)),
      makeDetails(makeTable('Newest week first', WEEKS, rows.toReversed().slice(0, WEEKS_SHOWN))),
    ),
  ]
}

type Month = { at: number; values: Readonly<Record<string, number | null>> }

/** Makes a section of a plot by days and of a table with the last values of each month, a column a line. */
function makeHistory(
  input: { id: string; title: string; label: string; lanes: readonly Lane[]; caption: string },
  { at, lines }: { at: readonly number[]; lines: Readonly<Record<string, ReadonlyArray<number | null>>> },
  spans: Spans,
): Child[] {
  const { id, title, label, lanes, caption } = input
  if (at.length === 0) return []
  const chart = makeChart({ label, x: makeDayAxis(), lanes }, { x: at, lines })
  spans.follow(id, chart, at.at(-1) ?? 0)
  const months: Month[] = lastOfMonths(at).map((index) => ({
    at: at[index] ?? 0,
    values: Object.fromEntries(Object.entries(lines).map(([key, values]) => [key, values[index] ?? null])),
  }))
  const columns: readonly Column<Month>[] = [
    { title: 'Last of the month', names: true, cell: (month) => formatDay(month.at) },
    ...lanes.flatMap((lane) =>
      lane.lines.map(({ label: name, key, unit, digits }) => ({
        title: name,
        number: true,
        cell: ({ values }: Month) => formatNumber(values[key], unit, digits),
      })),
    ),
  ]
  return [
    makeSection(
      `${id}-title`,
      title,
      make('figure', {}, chart.element, make('figcaption', {}, caption)),
      makeDetails(
        makeTable('As it stood at the end of each month, newest first', columns, months.toReversed()),
      ),
    ),
  ]
}

const DAY_S = 86_400
const SPANS: ReadonlyArray<[label: string, days: number | undefined]> = [
  ['6 weeks', 42],
  ['6 months', 183],
  ['1 year', 366],
  ['Everything', undefined],
]

export type Spans = {
  element: HTMLElement
  /** Zooms a chart of days to the choice, in place of an earlier chart of that name. `latest`: its last day, s since 1970. */
  follow(name: string, chart: Chart, latest: number): void
}

/** Makes the choice of how far back the charts of days look; all of them follow it. */
export function makeSpans(): Spans {
  let chosen: number | undefined
  const charts = new Map<string, { chart: Chart; latest: number }>()
  const apply = ({ chart, latest }: { chart: Chart; latest: number }) =>
    chart.zoom(chosen === undefined ? undefined : { min: latest - chosen * DAY_S, max: latest })
  const buttons = SPANS.map(([label, days]) => {
    const button = make('button', { type: 'button', 'aria-pressed': String(days === chosen) }, label)
    button.addEventListener('click', () => {
      chosen = days
      for (const other of buttons) other.setAttribute('aria-pressed', String(other === button))
      for (const shown of charts.values()) apply(shown)
    })
    return button
  })
  return {
    element: make('div', { class: 'choice', role: 'group', 'aria-label': 'How far back' }, ...buttons),
    follow(name, chart, latest) {
      charts.set(name, { chart, latest })
      apply({ chart, latest })
    },
  }
}

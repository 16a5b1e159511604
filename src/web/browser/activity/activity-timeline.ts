import type { ActivityFacts, SampleField } from '../../../store/dashboard/page-rows.ts'
import type { Serialized } from '../../dashboard/dashboard-types.ts'
import { makeElapsedAxis } from '../charts/axes.ts'
import { type Chart, type Lane, type Line, makeChart, type Range } from '../charts/chart.ts'
import { type Child, make, refill } from '../dom.ts'
import { formatNumber, formatStopwatch } from '../format.ts'
import { fetchJson, showState } from '../live.ts'
import { readSettings } from '../settings.ts'
import { type Column, makeDetails, makeSection, makeTable } from '../table.ts'
import { makeLocalClock, makeSteps, type Step, withPauses } from './activity-samples.ts'
import { makeStretch } from './stretch.ts'
import { type Samples, speedsOf, spreadOf } from './stretch-summary.ts'

const MILES = readSettings().distances === 'miles'
const [SPEED, HEIGHT]: [[string, number], [string, number]] = MILES
  ? [
      ['mph', 1 / 1.609344],
      ['ft', 1 / 0.3048],
    ]
  : [
      ['km/h', 1],
      ['m', 1],
    ]

const line = (
  key: string,
  label: string,
  unit: string,
  colour: string,
  look: Line['look'] = 'line',
): Line => ({
  key,
  label,
  unit,
  colour,
  look,
})
/** One quantity a lane, each with a scale of its own. */
const LANES: readonly Lane[] = [
  { lines: [line('alt', 'Elevation', HEIGHT[0], 'best')], unit: HEIGHT[0], height: 150 },
  { lines: [line('power', 'Power', 'W', 'power', 'area')], unit: 'W', height: 190, fromZero: true },
  { lines: [line('mpa', 'MPA (power available)', 'W', 'mpa')], unit: 'W', height: 110 },
  { lines: [line('hr', 'Heart rate', '/min', 'heart')], unit: '/min', height: 120 },
  { lines: [line('cad', 'Cadence', '/min', 'muted')], unit: '/min', height: 100 },
  {
    lines: [{ ...line('speed', 'Speed', SPEED[0], 'low'), digits: 1 }],
    unit: SPEED[0],
    height: 110,
    fromZero: true,
  },
]

const STEPS: readonly Column<Step>[] = [
  { title: 'From', names: true, cell: (step) => formatStopwatch(step.from_s) },
  { title: 'Mean power', number: true, cell: (step) => formatNumber(step.mean_power, 'W') },
  { title: 'Highest power', number: true, cell: (step) => formatNumber(step.highest_power, 'W') },
  { title: 'Lowest MPA', number: true, cell: (step) => formatNumber(step.lowest_mpa, 'W') },
  { title: 'Mean heart rate', number: true, cell: (step) => formatNumber(step.mean_hr, '/min') },
  { title: 'Mean cadence', number: true, cell: (step) => formatNumber(step.mean_cad, '/min') },
]

/** What the timeline tells the rest of the page: the index of the sample pointed at, and the chosen stretch. */
export type TimelineEvents = {
  onPoint: (index: number | undefined) => void
  onStretch: (range: Range | undefined) => void
}

export type Timeline = {
  children: readonly Child[]
  /** Points at a sample by its index. */
  point(index: number): void
  /** Chooses the stretch between two moments in s; undefined: all. */
  choose(range: Range | undefined): void
}

/** Makes the charts over time, their table, the numbers of a chosen stretch, and the buttons of further fields. */
export function makeTimeline(
  facts: Serialized<ActivityFacts>,
  samples: Samples | undefined,
  path: string,
  events: TimelineEvents,
): Timeline {
  const none = { point: () => undefined, choose: () => undefined }
  if (!samples || samples.elapsed_s.length === 0) {
    const text = 'There are no samples to plot.'
    return { ...none, children: [makeSection('time-title', 'Over time', make('p', {}, text))] }
  }
  const columns: Record<string, ReadonlyArray<number | null>> = {
    power: samples.power,
    mpa: samples.mpa,
    hr: samples.hr,
    cad: samples.cad,
    alt: samples.alt.map((value) => value && value * HEIGHT[1]),
    speed: speedsOf(samples).map((value) => value && value * SPEED[1]),
  }
  const more = new Map<string, Lane>()
  const stretch = makeStretch(samples, facts.weight_kg, (range) => chart?.zoom(range))
  const figure = make('div')
  let chart: Chart | undefined
  // A pause has a point of its own in the chart, so places in it are not those of the samples.
  let samplePlaces: readonly number[] = []
  let chosen: Range | undefined

  const draw = () => {
    const lanes = [...LANES, ...more.values()].filter(({ lines }) =>
      lines.some(({ key }) => columns[key]?.some((value) => value !== null)),
    )
    if (lanes.length === 0) return refill(figure, make('p', {}, 'Nothing was recorded that can be plotted.'))
    const { x, lines, places } = withPauses(samples.elapsed_s, columns)
    samplePlaces = places
    chart = makeChart(
      { label: 'The activity over time', x: makeElapsedAxis(makeLocalClock(facts)), lanes },
      { x, lines },
      {
        onPoint: (place) => events.onPoint(place === undefined ? undefined : samplePlaces[place]),
        onZoom(range) {
          chosen = range
          stretch.show(range)
          events.onStretch(range)
        },
      },
    )
    if (chosen) chart.zoom(chosen)
    refill(figure, chart.element)
  }
  draw()
  const children = [
    makeSection(
      'time-title',
      'Over time',
      make('figure', { class: 'timeline' }, figure, make('figcaption', {}, describe(samples))),
      makeMore(samples.fields, path, (field, values) => {
        if (values) {
          columns[field] = values
          more.set(field, {
            lines: [{ ...line(field, field, '', 'text'), digits: 2 }],
            unit: field,
            height: 110,
          })
        } else more.delete(field)
        draw()
      }),
      stretch.element,
      makeDetails(
        makeTable('The activity in equal steps, derived from its samples', STEPS, makeSteps(samples)),
      ),
    ),
  ]
  return {
    children,
    point: (index) => chart?.point(samplePlaces.indexOf(index)),
    choose: (range) => chart?.zoom(range),
  }
}

/** Makes a button for each further field, which fetches it and draws it; again, takes it away. */
function makeMore(
  fields: readonly string[],
  path: string,
  onField: (field: string, values: ReadonlyArray<number | null> | undefined) => void,
): Child {
  if (fields.length === 0) return null
  const buttons = fields.map((field) => {
    const button = make('button', { type: 'button', 'aria-pressed': 'false' }, field)
    button.addEventListener('click', async () => {
      if (button.getAttribute('aria-pressed') === 'true') {
        button.setAttribute('aria-pressed', 'false')
        return onField(field, undefined)
      }
      button.disabled = true
      const answer = await fetchJson<Serialized<SampleField>>(`${path}/samples/${encodeURIComponent(field)}`)
      button.disabled = false
      if (answer.kind === 'problem') return showState(answer.problem)
      if (answer.kind !== 'data') return
      button.setAttribute('aria-pressed', 'true')
      onField(field, answer.data.values)
    })
    return button
  })
  const note = make('span', { class: 'quiet' }, 'Further fields, as the service sends them: ')
  return make(
    'div',
    { class: 'choice more-fields', role: 'group', 'aria-label': 'Further fields' },
    note,
    ...buttons,
  )
}

function describe(samples: Samples): string {
  const { power, mpa, hr } = samples
  const [watts, available, beats] = [spreadOf(power), spreadOf(mpa), spreadOf(hr)]
  const fresh = mpa.find((value) => value !== null) ?? null
  const sentences = [
    `${formatStopwatch(samples.elapsed_s.at(-1))} long.`,
    watts.mean === null && 'No power was recorded.',
    available.lowest !== null &&
      fresh !== null &&
      (fresh - available.lowest < 1
        ? `MPA stayed at ${formatNumber(available.lowest, 'W')}.`
        : `MPA fell from ${formatNumber(fresh, 'W')} to ${formatNumber(available.lowest, 'W')}.`),
    beats.mean === null && 'No heart rate was recorded.',
    watts.mean !== null && 'The power in the chart is a mean of about 5 s, as the service sends it.',
  ]
  return sentences.filter(Boolean).join(' ')
}

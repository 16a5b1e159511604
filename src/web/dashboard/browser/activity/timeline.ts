import type { ActivityFacts, Told } from '../../views.ts'
import { makeElapsedAxis } from '../charts/axes.ts'
import { makeChart } from '../charts/chart.ts'
import type { Lane, Line } from '../charts/spec.ts'
import { type Child, make } from '../dom.ts'
import { formatNumber, formatStopwatch } from '../format.ts'
import { type Column, makeDetails, makeSection, makeTable } from '../table.ts'
import { makeClock } from './clock.ts'
import { highestOf, lowestOf, makeSteps, meanOf, type Samples, type Step, withPauses } from './steps.ts'

const POWER: Line = { key: 'power', label: 'Power', unit: 'W', colour: 'power', look: 'area' }
const MPA: Line = { key: 'mpa', label: 'MPA (power available)', unit: 'W', colour: 'mpa', look: 'line' }
const HEART: Line = { key: 'hr', label: 'Heart rate', unit: '/min', colour: 'heart', look: 'line' }

const STEPS: readonly Column<Step>[] = [
  { title: 'From', names: true, cell: (step) => formatStopwatch(step.from_s) },
  { title: 'Mean power', number: true, cell: (step) => formatNumber(step.mean_power, 'W') },
  { title: 'Highest power', number: true, cell: (step) => formatNumber(step.highest_power, 'W') },
  { title: 'Lowest MPA', number: true, cell: (step) => formatNumber(step.lowest_mpa, 'W') },
  { title: 'Mean heart rate', number: true, cell: (step) => formatNumber(step.mean_hr, '/min') },
]

/** Makes the plot of power, MPA and heart rate over time, in words and in a table, too. */
export function makeTimeline(facts: Told<ActivityFacts>, samples: Samples | undefined): Child[] {
  const lanes = samples ? lanesOf(samples) : []
  if (!samples || lanes.length === 0) {
    const text = 'There are no samples of power, MPA or heart rate to plot.'
    return [makeSection('time-title', 'Over time', make('p', {}, text))]
  }
  const shown = withPauses(samples)
  const chart = makeChart(
    {
      label: 'Power, MPA and heart rate over time',
      x: makeElapsedAxis(makeClock(facts)),
      lanes,
    },
    { x: shown.elapsed_s, lines: { power: shown.power, mpa: shown.mpa, hr: shown.hr } },
  )
  const table = makeDetails(
    makeTable('The ride in equal steps, derived from its samples', STEPS, makeSteps(samples)),
  )
  return [
    makeSection(
      'time-title',
      'Over time',
      make('figure', {}, chart.element, make('figcaption', {}, describe(samples))),
      table,
    ),
  ]
}

/** What was never recorded gets no lane of its own. */
function lanesOf(samples: Samples): Lane[] {
  const watts = [...(isTold(samples.power) ? [POWER] : []), ...(isTold(samples.mpa) ? [MPA] : [])]
  return [
    ...(watts.length > 0 ? [{ lines: watts, unit: 'W', height: 300, fromZero: true }] : []),
    ...(isTold(samples.hr) ? [{ lines: [HEART], unit: 'beats/min', height: 170 }] : []),
  ]
}

function describe({ elapsed_s: elapsed, power, mpa, hr }: Samples): string {
  const told = (column: ReadonlyArray<number | null>) => column.filter((value) => value !== null)
  const sentences = [
    `${formatStopwatch(elapsed.at(-1))} long.`,
    isTold(power) &&
      `Power: ${formatNumber(meanOf(told(power)), 'W')} on average, ${formatNumber(highestOf(told(power)), 'W')} at most.`,
    isTold(mpa) && `MPA fell to ${formatNumber(lowestOf(told(mpa)), 'W')}.`,
    isTold(hr)
      ? `Heart rate: ${formatNumber(meanOf(told(hr)), '/min')} on average, ${formatNumber(highestOf(told(hr)), '/min')} at most.`
      : 'No heart rate was recorded.',
  ]
  return sentences.filter(Boolean).join(' ')
}

function isTold(column: ReadonlyArray<number | null>): boolean {
  return column.some((value) => value !== null)
}

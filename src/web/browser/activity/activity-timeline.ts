import type { ActivityFacts, SampleColumns } from '../../../store/dashboard/page-rows.ts'
import type { Serialized } from '../../dashboard/dashboard-types.ts'
import { makeElapsedAxis } from '../charts/axes.ts'
import { type Lane, type Line, makeChart } from '../charts/chart.ts'
import { type Child, make } from '../dom.ts'
import { formatNumber, formatStopwatch } from '../format.ts'
import { type Column, makeDetails, makeSection, makeTable } from '../table.ts'
import {
  highestOf,
  lowestOf,
  makeLocalClock,
  makeSteps,
  meanOf,
  recordedFieldsOf,
  type Step,
  withPauses,
} from './activity-samples.ts'

type Samples = Serialized<SampleColumns>

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

/** Makes the plot of power, MPA and heart rate over time, with a sentence and a table of the same. */
export function makeTimeline(facts: Serialized<ActivityFacts>, samples: Samples | undefined): Child[] {
  const lanes = samples ? lanesOf(samples) : []
  if (!samples || lanes.length === 0) {
    const text = 'There are no samples of power, MPA or heart rate to plot.'
    return [makeSection('time-title', 'Over time', make('p', {}, text))]
  }
  const shown = withPauses(samples)
  const chart = makeChart(
    {
      label: 'Power, MPA and heart rate over time',
      x: makeElapsedAxis(makeLocalClock(facts)),
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

/** Makes lanes only for the quantities that were recorded. */
function lanesOf(samples: Samples): Lane[] {
  const watts = [...(isRecorded(samples.power) ? [POWER] : []), ...(isRecorded(samples.mpa) ? [MPA] : [])]
  return [
    ...(watts.length > 0 ? [{ lines: watts, unit: 'W', height: 300, fromZero: true }] : []),
    ...(isRecorded(samples.hr) ? [{ lines: [HEART], unit: 'beats/min', height: 170 }] : []),
  ]
}

function describe({ elapsed_s: elapsed, power, mpa, hr }: Samples): string {
  const sentences = [
    `${formatStopwatch(elapsed.at(-1))} long.`,
    isRecorded(power) &&
      `Power: ${formatNumber(meanOf(recordedFieldsOf(power)), 'W')} on average, ${formatNumber(highestOf(recordedFieldsOf(power)), 'W')} at most.`,
    isRecorded(mpa) && `MPA fell to ${formatNumber(lowestOf(recordedFieldsOf(mpa)), 'W')}.`,
    isRecorded(hr)
      ? `Heart rate: ${formatNumber(meanOf(recordedFieldsOf(hr)), '/min')} on average, ${formatNumber(highestOf(recordedFieldsOf(hr)), '/min')} at most.`
      : 'No heart rate was recorded.',
  ]
  return sentences.filter(Boolean).join(' ')
}

function isRecorded(column: ReadonlyArray<number | null>): boolean {
  return column.some((value) => value !== null)
}

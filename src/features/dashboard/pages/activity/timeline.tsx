import { useMemo, useState } from 'preact/hooks'
import { elapsedAxis } from '../../shared/charts/axes.ts'
import { Chart } from '../../shared/charts/chart.tsx'
import { type Lane, type Line, makeLane, makeLine, type Range } from '../../shared/charts/lanes.ts'
import { formatNumber, formatPace, formatStopwatch, UNITS } from '../../shared/format.ts'
import { fetchOnce } from '../../shared/live.tsx'
import { Details, Section, Toggle } from '../../shared/parts.tsx'
import type { Sent } from '../../shared/sent.ts'
import { type Column, Table } from '../../shared/table.tsx'
import type { findSampleField } from './plotted-samples.ts'
import type { View } from './queries.ts'
import { makeLocalClock, makeSteps, type Step, withPauses } from './recording.ts'
import { Stretch } from './stretch.tsx'
import { type Samples, speedsOf, spreadOf, type Column as Values } from './summarize.ts'

const TENTHS = { digits: 1 }
const SPEED = makeLane(110, [makeLine('speed', 'Speed', UNITS.speed, 'low', TENTHS)], { fromZero: true })
/** The speed of a run, formatted as a pace. The axis is a speed, so faster is higher. */
const PACE = makeLane(110, [makeLine('speed', 'Pace', `/${UNITS.distance}`, 'low', { write: formatPace })], {
  fromZero: true,
  unit: `min/${UNITS.distance}`,
})
/** One lane for each quantity, each with its own scale. */
const LANES: readonly Lane[] = [
  makeLane(150, [makeLine('alt', 'Elevation', UNITS.height, 'best')]),
  makeLane(190, [makeLine('power', 'Power', 'W', 'power', { look: 'area' })], { fromZero: true }),
  makeLane(110, [makeLine('mpa', 'MPA (power available)', 'W', 'mpa')]),
  makeLane(120, [makeLine('hr', 'Heart rate', 'bpm', 'heart')]),
  makeLane(100, [makeLine('cad', 'Cadence', 'rpm', 'muted')]),
  SPEED,
  makeLane(110, [
    makeLine('temperature', 'Temperature', '°C', 'best', TENTHS),
    makeLine('core_temperature', 'Core temperature', '°C', 'heart', TENTHS),
  ]),
  makeLane(100, [makeLine('respiration_rate', 'Respiration', 'breaths/min', 'low', TENTHS)]),
  makeLane(100, [makeLine('right_power_pct', 'Right leg', '%', 'mpa')]),
]

const STEPS: readonly Column<Step>[] = [
  { title: 'From', names: 'from_s', cell: (step) => formatStopwatch(step.from_s) },
  { title: 'Mean power', number: true, cell: (step) => formatNumber(step.mean_power, 'W') },
  { title: 'Highest power', number: true, cell: (step) => formatNumber(step.highest_power, 'W') },
  { title: 'Lowest MPA', number: true, cell: (step) => formatNumber(step.lowest_mpa, 'W') },
  { title: 'Mean heart rate', number: true, cell: (step) => formatNumber(step.mean_hr, 'bpm') },
  { title: 'Mean cadence', number: true, cell: (step) => formatNumber(step.mean_cad, 'rpm') },
]

type Props = {
  facts: View['facts']
  samples: Samples
  path: string
  /** the sample under the pointer, if any, and the selected section; undefined: the whole activity */
  pointed: number | undefined
  range: Range | undefined
  onPoint: (index: number | undefined) => void
  onRange: (range: Range | undefined) => void
}

/** The charts over time, their table, the numbers of the selected section, and the further fields. */
export function Timeline({ facts, samples, path, pointed, range, onPoint, onRange }: Props) {
  const [more, setMore] = useState<ReadonlyMap<string, Values>>(new Map())
  const { started_at, started_at_local, timezone, sport } = facts
  const { spec, columns, places } = useMemo(() => {
    const lines = { ...linesOf(samples), ...Object.fromEntries(more) }
    const { places: samplePlaces, ...plotted } = withPauses(samples.elapsed_s, lines)
    const isRecorded = ({ key }: Line) => lines[key]?.some((value) => value !== null)
    const further = [...more.keys()].map((field) =>
      makeLane(110, [makeLine(field, field, '', 'text', { digits: 2 })]),
    )
    const lanes = [...LANES, ...further]
      .map((lane) => (lane === SPEED && sport === 'running' ? PACE : lane))
      .map((lane) => ({ ...lane, lines: lane.lines.filter(isRecorded) }))
      .filter((lane) => lane.lines.length > 0)
    const clock = makeLocalClock({ started_at, started_at_local, timezone })
    return {
      spec: { label: 'The activity over time', x: elapsedAxis(clock), lanes },
      columns: plotted,
      places: samplePlaces,
    }
  }, [samples, more, started_at, started_at_local, timezone, sport])
  const steps = useMemo(
    () => (
      <Table
        folded
        caption="The activity in equal steps, derived from its samples"
        columns={STEPS}
        rows={makeSteps(samples)}
      />
    ),
    [samples],
  )
  const text = useMemo(() => describe(samples), [samples])
  return (
    <Section id="time-title" title="Over time">
      <Chart
        class="timeline"
        spec={spec}
        columns={columns}
        range={range}
        // Each pause is an extra point in the chart, so chart indexes differ from sample indexes.
        pointed={pointed === undefined ? undefined : places.indexOf(pointed)}
        onPoint={(place) => onPoint(place === undefined ? undefined : places[place])}
        onZoom={onRange}
      >
        {text}
      </Chart>
      <FurtherFields fields={samples.fields} path={path} shown={more} onShow={setMore} />
      <Stretch samples={samples} weightKg={facts.weight_kg} sport={sport} range={range} onChoose={onRange} />
      {steps}
    </Section>
  )
}

function linesOf(samples: Samples): Record<string, Values> {
  return {
    power: samples.power,
    mpa: samples.mpa,
    hr: samples.hr,
    cad: samples.cad,
    alt: samples.alt.map((value) => value && value * UNITS.aMetre),
    speed: speedsOf(samples).map((value) => value && value * UNITS.aKm),
    ...samples.recorded,
  }
}

type FieldsProps = {
  fields: readonly string[]
  path: string
  shown: ReadonlyMap<string, Values>
  onShow: (shown: ReadonlyMap<string, Values>) => void
}

/** The menu of further fields: a button fetches and draws a field, or removes it. */
function FurtherFields({ fields, path, shown, onShow }: FieldsProps) {
  const [fetching, setFetching] = useState<string>()
  if (fields.length === 0) return null
  const toggle = async (field: string) => {
    const others = new Map(shown)
    if (others.delete(field)) return onShow(others)
    setFetching(field)
    const fetched = await fetchOnce<Sent<typeof findSampleField>>(
      `${path}/samples/${encodeURIComponent(field)}`,
    )
    setFetching(undefined)
    if (fetched) onShow(others.set(field, fetched.values))
  }
  return (
    <Details title={`Further fields from the service: ${fields.length}`}>
      <div class="choice more-fields" role="group" aria-label="Further fields">
        {fields.map((field) => (
          <Toggle
            key={field}
            pressed={shown.has(field)}
            disabled={field === fetching}
            onClick={() => toggle(field)}
          >
            {field}
          </Toggle>
        ))}
      </div>
    </Details>
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
    watts.mean !== null && 'The service smooths the power in the chart over about 5 s.',
  ]
  return sentences.filter(Boolean).join(' ')
}

import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Range } from '../../shared/charts/lanes.ts'
import {
  formatDistance,
  formatHeight,
  formatNumber,
  formatPerKg,
  formatSpeed,
  formatStopwatch,
  note,
} from '../../shared/format.ts'
import { knownOf, type NamedNumber, Numbers } from '../../shared/parts.tsx'
import { parseTime } from './recording.ts'
import { indexAt, type Samples, type Summary, summarize } from './summarize.ts'

type Props = {
  samples: Samples
  weightKg: number | null
  sport: string
  /** the section that is selected in the charts; undefined: the whole activity */
  range: Range | undefined
  onChoose: (range: Range | undefined) => void
}

/** The numbers of the section that a person selects in the charts or types. */
export function Stretch({ samples, weightKg, sport, range, onChoose }: Props) {
  const last = samples.elapsed_s.at(-1) ?? 0
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  const [wrong, setWrong] = useState({ from: false, to: false })
  useEffect(() => {
    setFrom(formatStopwatch(range?.min ?? 0))
    setTo(formatStopwatch(range?.max ?? last))
  }, [range, last])
  const numbers = useMemo(() => {
    const at = samples.elapsed_s
    const cut = range && summarize(samples, indexAt(at, range.min), indexAt(at, range.max + 0.001))
    return cut && numbersOf(cut, weightKg, sport)
  }, [samples, range, weightKg])
  const choose = (event: SubmitEvent) => {
    event.preventDefault()
    const [begin, end] = [parseTime(from), parseTime(to)]
    setWrong({ from: begin === undefined, to: end === undefined || end <= (begin ?? 0) })
    if (begin === undefined || end === undefined || end <= begin) return
    onChoose(begin <= 0 && end >= last ? undefined : { min: begin, max: Math.min(end, last) })
  }
  return (
    <section class="stretch" aria-labelledby="stretch-title">
      <h3 id="stretch-title">A section</h3>
      <form class="stretch-times" onSubmit={choose}>
        <TimeField id="stretch-from" title="From" value={from} wrong={wrong.from} onInput={setFrom} />
        <TimeField id="stretch-to" title="To" value={to} wrong={wrong.to} onInput={setTo} />
        <button type="submit">Select the section</button>
      </form>
      {numbers ? (
        <div role="status">
          <Numbers wide numbers={numbers} />
        </div>
      ) : (
        <p class="quiet">To see the means of a section, drag across the charts or type two times.</p>
      )}
    </section>
  )
}

type FieldProps = {
  id: string
  title: string
  value: string
  wrong: boolean
  onInput: (value: string) => void
}

function TimeField({ id, title, value, wrong, onInput }: FieldProps) {
  return (
    <div>
      <label for={id}>{title}</label>
      <input
        id={id}
        autocomplete="off"
        inputMode="numeric"
        size={8}
        value={value}
        aria-invalid={wrong}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </div>
  )
}

function numbersOf(summary: Summary, weightKg: number | null, sport: string): readonly NamedNumber[] {
  const { power, hr, cad, speed_kmh: speed, distance_m: distance } = summary
  return knownOf([
    ['Time', formatStopwatch(summary.elapsed_s), note`moving ${formatStopwatch(summary.moving_s)}`],
    ['Power', formatNumber(power.mean, 'W'), note`highest ${formatNumber(power.highest, 'W')}`],
    ['Per kilogram', formatPerKg(power.mean, weightKg)],
    ['Weighted mean power', formatNumber(summary.weighted_w, 'W')],
    ['Work', formatNumber(summary.work_kj, 'kJ')],
    ['Heart rate', formatNumber(hr.mean, 'bpm'), note`highest ${formatNumber(hr.highest, 'bpm')}`],
    ['Cadence', formatNumber(cad.mean, 'rpm')],
    ['Distance', formatDistance(distance && distance / 1_000, 2)],
    [
      sport === 'running' ? 'Pace' : 'Speed',
      formatSpeed(speed.mean, sport),
      note`highest ${formatSpeed(speed.highest, sport)}`,
    ],
    ['Climbed', formatHeight(summary.climbed_m)],
    ['Lowest MPA', formatNumber(summary.mpa.lowest, 'W')],
  ])
}

import type { Range } from '../charts/chart.ts'
import { make, refill } from '../dom.ts'
import { formatDistance, formatHeight, formatNumber, formatSpeed, formatStopwatch } from '../format.ts'
import { parseTime } from './activity-samples.ts'
import { indexAt, type Samples, type Summary, summarize } from './stretch-summary.ts'

type Number = [name: string, value: string, note?: string]

/** Makes the numbers of the stretch that is chosen in the charts, or by its times; hidden while that is all of it. */
export function makeStretch(
  samples: Samples,
  weightKg: number | null,
  onChoose: (range: Range | undefined) => void,
): { element: HTMLElement; show(range: Range | undefined): void } {
  const last = samples.elapsed_s.at(-1) ?? 0
  const numbers = make('div')
  const from = makeTimeField('stretch-from', 'From')
  const to = makeTimeField('stretch-to', 'To')
  const form = make(
    'form',
    { class: 'stretch-times' },
    from.element,
    to.element,
    make('button', {}, 'Choose the stretch'),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const [begin, end] = [parseTime(from.input.value), parseTime(to.input.value)]
    from.input.setAttribute('aria-invalid', String(begin === undefined))
    to.input.setAttribute('aria-invalid', String(end === undefined || end <= (begin ?? 0)))
    if (begin === undefined || end === undefined || end <= begin) return
    onChoose(begin <= 0 && end >= last ? undefined : { min: begin, max: Math.min(end, last) })
  })
  const show = (range: Range | undefined) => {
    if (document.activeElement !== from.input) from.input.value = formatStopwatch(range?.min ?? 0)
    if (document.activeElement !== to.input) to.input.value = formatStopwatch(range?.max ?? last)
    if (!range) {
      const hint = 'Drag across the charts, or write two times, to see the means of a stretch.'
      return refill(numbers, make('p', { class: 'quiet' }, hint))
    }
    const begin = indexAt(samples.elapsed_s, range.min)
    const end = indexAt(samples.elapsed_s, range.max + 0.001)
    const pairs = numbersOf(summarize(samples, begin, end), weightKg).map(([name, value, note]) =>
      make('div', {}, make('dt', {}, name), make('dd', {}, value, note ? make('small', {}, note) : null)),
    )
    refill(numbers, make('dl', { class: 'numbers wide', role: 'status' }, ...pairs))
  }
  show(undefined)
  const title = make('h3', { id: 'stretch-title' }, 'A stretch of it')
  return {
    element: make('section', { class: 'stretch', 'aria-labelledby': 'stretch-title' }, title, form, numbers),
    show,
  }
}

function makeTimeField(id: string, title: string) {
  const input = make('input', { id, autocomplete: 'off', inputmode: 'numeric', size: 8 })
  return { input, element: make('div', {}, make('label', { for: id }, title), input) }
}

function numbersOf(summary: Summary, weightKg: number | null): Number[] {
  const { power, hr, cad, speed_kmh: speed, mpa } = summary
  const perKg =
    power.mean === null || weightKg === null || weightKg <= 0
      ? ''
      : formatNumber(power.mean / weightKg, 'W/kg', 2)
  const all: Array<Number | false> = [
    [
      'Time',
      formatStopwatch(summary.elapsed_s),
      summary.moving_s === null ? '' : `moving ${formatStopwatch(summary.moving_s)}`,
    ],
    power.mean !== null && [
      'Power',
      formatNumber(power.mean, 'W'),
      `highest ${formatNumber(power.highest, 'W')}`,
    ],
    perKg !== '' && ['Per kilogram', perKg],
    summary.weighted_w !== null && ['Weighted mean power', formatNumber(summary.weighted_w, 'W')],
    summary.work_kj !== null && ['Work', formatNumber(summary.work_kj, 'kJ')],
    hr.mean !== null && [
      'Heart rate',
      formatNumber(hr.mean, '/min'),
      `highest ${formatNumber(hr.highest, '/min')}`,
    ],
    cad.mean !== null && ['Cadence', formatNumber(cad.mean, '/min')],
    summary.distance_m !== null && ['Distance', formatDistance(summary.distance_m / 1_000, 2)],
    speed.mean !== null && ['Speed', formatSpeed(speed.mean), `highest ${formatSpeed(speed.highest)}`],
    summary.climbed_m !== null && ['Climbed', formatHeight(summary.climbed_m)],
    mpa.lowest !== null && ['Lowest MPA', formatNumber(mpa.lowest, 'W')],
  ]
  return all.filter((entry) => entry !== false)
}

import type { Lap, Zones } from '../../../store/dashboard/page-rows.ts'
import type { Serialized } from '../../dashboard/dashboard-types.ts'
import type { Range } from '../charts/chart.ts'
import { type Child, make } from '../dom.ts'
import { formatDistance, formatNumber, formatSpan, formatStopwatch } from '../format.ts'
import { type Column, makeSection, makeTable } from '../table.ts'

type Zone = { zone: string; bounds: string; seconds: number; share: number }

/** Where the zones begin: of power as shares of threshold power, of heart rate as shares of the highest. */
const POWER_BOUNDS = [0, 0.55, 0.75, 0.9, 1.05, 1.2, 1.5]
const HR_BOUNDS = [0, 0.6, 0.7, 0.8, 0.9]

const columnsFor = (title: string): readonly Column<Zone>[] => [
  { title: 'Zone', names: true, cell: ({ zone }) => zone },
  { title, cell: ({ bounds }) => bounds },
  { title: 'Time', number: true, cell: ({ seconds }) => formatStopwatch(seconds) },
  { title: 'Share', wide: true, cell: makeShare },
]

/** Makes the seconds in each zone of power and of heart rate, with what their bounds are made of. */
export function makeZones(zones: Serialized<Zones> | null): Child[] {
  if (!zones) return []
  const power = zonesOf(zones.power_s, POWER_BOUNDS, zones.ftp, 'W')
  const heart = zonesOf(zones.hr_s, HR_BOUNDS, zones.hr_max, '/min')
  const near = zones.near_mpa_s
  const parts = [
    power.length > 0 &&
      make(
        'div',
        {},
        makeTable(
          `By power: shares of the threshold power after this activity, ${formatNumber(zones.ftp, 'W')}`,
          columnsFor('Power'),
          power,
        ),
        near !== null &&
          make(
            'p',
            { class: 'quiet' },
            `At 90 % of MPA or more: ${near === 0 ? 'never' : formatSpan(near)}. Above threshold: ${formatSpan(zones.above_ftp_s ?? 0)}.`,
          ),
      ),
    heart.length > 0 &&
      makeTable(
        `By heart rate: shares of the highest of the last 12 months, ${formatNumber(zones.hr_max, '/min')}`,
        columnsFor('Heart rate'),
        heart,
      ),
  ]
  if (!parts.some(Boolean)) return []
  return [makeSection('zones-title', 'Zones', make('div', { class: 'beside' }, ...parts))]
}

function zonesOf(
  seconds: ReadonlyArray<number | null>,
  bounds: readonly number[],
  whole: number | null,
  unit: string,
): Zone[] {
  if (whole === null || seconds.some((value) => value === null)) return []
  const known = seconds.map((value) => value ?? 0)
  const total = known.reduce((sum, value) => sum + value, 0)
  if (total === 0) return []
  return known.map((value, index) => {
    const [from = 0, to] = [bounds[index], bounds[index + 1]]
    const low = formatNumber(from * whole)
    const text = to === undefined ? `${low} ${unit} and more` : `${low} to ${formatNumber(to * whole, unit)}`
    return { zone: `Z${index + 1}`, bounds: text, seconds: value, share: value / total }
  })
}

function makeShare({ share }: Zone): HTMLElement {
  const bar = make('span', { class: 'zone-bar', 'aria-hidden': 'true' })
  bar.style.width = `${Math.max(share * 100, share > 0 ? 0.5 : 0)}%`
  return make(
    'span',
    { class: 'zone-share' },
    make('span', {}, formatNumber(share * 100, '%')),
    make('span', { class: 'zone-track' }, bar),
  )
}

/** Makes the laps as the head unit wrote them; nothing without any. A lap can be chosen as the stretch. */
export function makeLaps(laps: readonly Serialized<Lap>[], onChoose: (range: Range) => void): Child[] {
  if (laps.length === 0) return []
  const columns: readonly Column<Serialized<Lap>>[] = [
    { title: 'Lap', names: true, cell: (lap) => makeLapButton(lap, onChoose) },
    { title: 'Begins', number: true, cell: ({ from_s: from }) => formatStopwatch(from) },
    { title: 'Time', number: true, cell: ({ elapsed_s: s }) => formatStopwatch(s) },
    {
      title: 'Distance',
      number: true,
      cell: ({ distance_m: m }) => formatDistance(m === null ? null : m / 1_000, 2),
    },
    { title: 'Power', number: true, cell: (lap) => formatNumber(lap.avg_power, 'W') },
    { title: 'Highest', number: true, cell: (lap) => formatNumber(lap.max_power, 'W') },
    { title: 'Heart rate', number: true, cell: (lap) => formatNumber(lap.avg_hr, '/min') },
    { title: 'Cadence', number: true, cell: (lap) => formatNumber(lap.avg_cadence, '/min') },
  ]
  return [makeSection('laps-title', 'Laps', makeTable('As the head unit summed them up', columns, laps))]
}

function makeLapButton(lap: Serialized<Lap>, onChoose: (range: Range) => void): Child {
  const { from_s: from, elapsed_s: took } = lap
  if (from === null || took === null) return String(lap.lap)
  const button = make(
    'button',
    { type: 'button', 'aria-label': `Show lap ${lap.lap} in the charts` },
    String(lap.lap),
  )
  button.addEventListener('click', () => onChoose({ min: Math.max(0, from), max: from + took }))
  return button
}

import type { Range } from '../../shared/charts/lanes.ts'
import { formatDay, formatDistance, formatNumber, formatSpan, formatStopwatch } from '../../shared/format.ts'
import { ActivityLink, FoldedSection } from '../../shared/parts.tsx'
import { type Column, Table } from '../../shared/table.tsx'
import type { View } from './queries.ts'

type Lap = View['laps'][number]
type Zone = { zone: string; bounds: string; seconds: number; share: number }

/** Lower bounds of the zones, as shares of threshold power and of maximum heart rate. */
const POWER_BOUNDS = [0, 0.55, 0.75, 0.9, 1.05, 1.2, 1.5]
const HR_BOUNDS = [0, 0.6, 0.7, 0.8, 0.9]

function columnsFor(title: string): readonly Column<Zone>[] {
  return [
    { title: 'Zone', names: 'zone', cell: ({ zone }) => zone },
    { title, cell: ({ bounds }) => bounds },
    { title: 'Time', number: true, cell: ({ seconds }) => formatStopwatch(seconds) },
    { title: 'Share', wide: true, cell: ({ share }) => <Share share={share} /> },
  ]
}

/** The seconds in each power zone and heart rate zone, with the value on which the bounds are based. */
export function Zones({ zones }: { zones: View['zones'] }) {
  if (!zones) return null
  const power = zonesOf(zones.power_s, POWER_BOUNDS, zones.ftp, 'W')
  const heart = zonesOf(zones.hr_s, HR_BOUNDS, zones.hr_max, 'bpm')
  if (power.length === 0 && heart.length === 0) return null
  const { near_mpa_s: near, above_ftp_s: above } = zones
  return (
    <FoldedSection id="zones-title" title="Zones">
      <div class="beside">
        {power.length > 0 && (
          <div>
            <Table
              caption={`Power zones as shares of the threshold power after this activity, ${formatNumber(zones.ftp, 'W')}`}
              columns={columnsFor('Power')}
              rows={power}
              narrow
            />
            {near !== null && (
              <p class="quiet">
                At 90 % of MPA or more: {near === 0 ? 'never' : formatSpan(near)}. Above threshold:{' '}
                {formatSpan(above ?? 0)}.
              </p>
            )}
          </div>
        )}
        {heart.length > 0 && (
          <Table
            caption={`Heart rate zones as shares of the highest heart rate of the last 12 months, ${formatNumber(zones.hr_max, 'bpm')}`}
            columns={columnsFor('Heart rate')}
            rows={heart}
            narrow
          />
        )}
      </div>
    </FoldedSection>
  )
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

function Share({ share }: { share: number }) {
  return (
    <span class="zone-share">
      <span>{formatNumber(share * 100, '%')}</span>
      <span class="zone-track">
        <span
          class="zone-bar"
          aria-hidden="true"
          style={{ width: `${Math.max(share * 100, share > 0 ? 0.5 : 0)}%` }}
        />
      </span>
    </span>
  )
}

type LapsProps = { laps: readonly Lap[]; onChoose: (range: Range) => void }

/** The laps recorded by the head unit, if any; a person can select a lap as the section. */
export function Laps({ laps, onChoose }: LapsProps) {
  if (laps.length === 0) return null
  const columns: readonly Column<Lap>[] = [
    { title: 'Lap', names: 'lap', cell: (lap) => <LapButton lap={lap} onChoose={onChoose} /> },
    { title: 'Begins', number: true, cell: ({ from_s: from }) => formatStopwatch(from) },
    { title: 'Time', number: true, cell: ({ elapsed_s: s }) => formatStopwatch(s) },
    { title: 'Distance', number: true, cell: ({ distance_m: m }) => formatDistance(m && m / 1_000, 2) },
    { title: 'Power', number: true, cell: (lap) => formatNumber(lap.avg_power, 'W') },
    { title: 'Highest', number: true, cell: (lap) => formatNumber(lap.max_power, 'W') },
    { title: 'Heart rate', number: true, cell: (lap) => formatNumber(lap.avg_hr, 'bpm') },
    { title: 'Cadence', number: true, cell: (lap) => formatNumber(lap.avg_cadence, 'rpm') },
  ]
  return (
    <FoldedSection id="laps-title" title="Laps">
      <Table caption="Laps as the head unit recorded them" columns={columns} rows={laps} />
    </FoldedSection>
  )
}

function LapButton({ lap, onChoose }: { lap: Lap; onChoose: (range: Range) => void }) {
  const { from_s: from, elapsed_s: took } = lap
  if (from === null || took === null) return <>{lap.lap}</>
  return (
    <button
      type="button"
      aria-label={`Show lap ${lap.lap} in the charts`}
      onClick={() => onChoose({ min: Math.max(0, from), max: from + took })}
    >
      {lap.lap}
    </button>
  )
}

const ROUTE_COLUMNS: readonly Column<View['same_route'][number]>[] = [
  { title: 'Day', names: 'id', cell: ({ id, day }) => <ActivityLink id={id} name={day && formatDay(day)} /> },
  { title: 'Moving', number: true, cell: ({ moving_s: moving }) => formatStopwatch(moving) },
  { title: 'Difference from mean', number: true, cell: ({ pct }) => formatNumber(pct, '%', 1, 'exceptZero') },
  { title: 'Power', number: true, cell: ({ mean_power: mean }) => formatNumber(mean, 'W') },
  { title: 'XSS', number: true, cell: ({ xss }) => formatNumber(xss) },
]

/** All rides on an activity's route, and the yearly trend of their times; nothing if the route was ridden only once. */
export function SameRoute({ same_route: all, facts }: Pick<View, 'same_route' | 'facts'>) {
  if (all.length < 2) return null
  const { place, trend_s: s } = all.find(({ id }) => id === facts.activity_id) ?? {}
  const change =
    s && `; the trend is ${formatStopwatch(Math.abs(s))} ${s < 0 ? 'faster' : 'slower'} each year`
  return (
    <FoldedSection id="same-route-title" title="Rides on this route">
      <p>{place && `By moving time this ride is number ${place} of ${all.length}${change ?? ''}.`}</p>
      <Table folded={all.length > 8} caption="Newest first" columns={ROUTE_COLUMNS} rows={all} />
    </FoldedSection>
  )
}

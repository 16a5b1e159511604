import { useMemo } from 'preact/hooks'
import { AccountChoice, readAccount, SportChoice } from '../../shared/account-choice.tsx'
import { formatQuery, useAddress } from '../../shared/address-query.tsx'
import { dayAxis } from '../../shared/charts/axes.ts'
import { Chart } from '../../shared/charts/chart.tsx'
import { type Line, makeLane, makeLine } from '../../shared/charts/lanes.ts'
import { FirstSteps } from '../../shared/first-steps.tsx'
import { formatDay, formatDistance, formatHeight, formatNumber, UNITS } from '../../shared/format.ts'
import { showPage } from '../../shared/frame.tsx'
import { useLive } from '../../shared/live.tsx'
import { ActivityLink, Numbers, Section, Waiting } from '../../shared/parts.tsx'
import { type Column, numberOf, Table } from '../../shared/table.tsx'
import type { View } from './queries.ts'

type Total = View['totals'][number]

const POLL_EVERY_MS = 15_000

showPage(<Totals />)

function Totals() {
  const [chosen, choose] = useAddress(['account', 'sport'])
  const query = formatQuery({ account: readAccount(), sport: chosen.sport })
  const view = useLive<View>(`/api/totals${query}`, POLL_EVERY_MS)
  const sums = useMemo(() => view && <Sums {...view} />, [view])
  if (!view) return <Waiting />
  const onChoose = (sport: string) => choose({ ...chosen, sport }, { step: false })
  return (
    <>
      <h1>Totals</h1>
      <AccountChoice path="/totals" accounts={view.accounts} shown={view.account_id} />
      <SportChoice sport={view.sport} sports={view.sports} onChoose={onChoose} />
      {view.account_id === null ? <FirstSteps /> : sums}
    </>
  )
}

const times = (value: number | null, factor: number) => value && value * factor
const formatHours = (seconds: number | null) => formatNumber(times(seconds, 1 / 3_600), 'h')
const signed = (value: number | null, unit: string) => formatNumber(value, unit, 1, 'exceptZero')
const yearOf = (at: number) => String(new Date(at * 1_000).getUTCFullYear())
const nameOf = ({ at, span }: Total) => (span === 'month' ? `${formatDay(at, 'month')} ` : '') + yearOf(at)
const TOTALS: readonly Column<Total>[] = [
  { title: 'When', names: 'at', cell: nameOf },
  numberOf('Activities', ({ activities }) => formatNumber(activities)),
  numberOf('Days', ({ days }) => formatNumber(days)),
  numberOf('Distance', ({ distance }) => formatDistance(distance, 0)),
  numberOf('Moving time', ({ moving_s }) => formatHours(moving_s)),
  numberOf('Elapsed time', ({ elapsed_s }) => formatHours(elapsed_s)),
  numberOf('Climbed', ({ climbed_m }) => formatHeight(climbed_m)),
  numberOf('Work', ({ work_kj }) => formatNumber(work_kj, 'kJ')),
  numberOf('XSS', ({ xss }) => formatNumber(xss)),
]
/** The columns of the years so far; `years` are all years. */
const yearsSoFar = (years: readonly Total[]): readonly Column<Total>[] => [
  ...TOTALS,
  numberOf('Moving time, compared with the year before', ({ at, moving_s: now }) => {
    const before = years.find((year) => Number(yearOf(year.at)) === Number(yearOf(at)) - 1)?.moving_s ?? null
    return signed(now === null || before === null ? null : (now - before) / 3_600, 'h')
  }),
]
const RECORDS: readonly Column<View['records'][number]>[] = [
  { title: 'Activity', names: 'id', cell: ({ id, name }) => <ActivityLink id={id} name={name} /> },
  { title: 'Day', cell: ({ day }) => formatDay(day) },
  numberOf('Medal', ({ medal }) => formatNumber(medal || null)),
  numberOf('FTP', ({ ftp }) => formatNumber(ftp, 'W')),
  numberOf('FTP change', ({ ftp_change }) => signed(ftp_change, 'W')),
  numberOf('HIE change', ({ hie_change }) => signed(hie_change, 'kJ')),
  numberOf('Peak power change', ({ pp_change }) => signed(pp_change, 'W')),
]

const bars = (key: string, label: string, unit: string, colour: string) =>
  makeLine(key, label, unit, colour, { look: 'bars', digits: 1 })
const specOf = (label: string, height: number, ...lanes: ReadonlyArray<readonly Line[]>) => ({
  label,
  x: dayAxis(),
  lanes: lanes.map((lines) => makeLane(height, lines, { fromZero: true, stacked: lines.length > 1 })),
})
const MONTHS = specOf(
  'Distance, moving time, ascent and XSS of each month',
  120,
  [bars('distance', 'Distance', UNITS.distance, 'power')],
  [bars('moving_s', 'Moving time', 'h', 'best')],
  [bars('climbed_m', 'Ascent', UNITS.height, 'high')],
  [bars('xss', 'XSS', '', 'heart')],
)
type Values<Row> = Readonly<Record<string, (row: Row) => number | null>>
const MONTH_VALUES: Values<Total> = {
  distance: ({ distance }) => times(distance, UNITS.aKm),
  moving_s: ({ moving_s }) => times(moving_s, 1 / 3_600),
  climbed_m: ({ climbed_m }) => times(climbed_m, UNITS.aMetre),
  xss: ({ xss }) => xss,
}
const COLOURS = ['muted', 'low', 'power', 'best', 'high', 'mpa', 'heart']
const ZONES = specOf(
  'Hours in each power zone, by week',
  240,
  COLOURS.map((colour, index) => bars(`z${index + 1}`, `Z${index + 1}`, 'h', colour)),
)

const ZONE_VALUES: Values<View['zones'][number]> = Object.fromEntries(
  COLOURS.map((_, index) => [`z${index + 1}`, ({ power_s }) => times(power_s[index] ?? null, 1 / 3_600)]),
)

/** Makes the values of a chart; adds the end of the last bar, because a bar covers `days` days. */
const plot = <Row extends { at: number }>(rows: readonly Row[], days: number, values: Values<Row>) => ({
  x: [...rows.map(({ at }) => at), (rows.at(-1)?.at ?? 0) + days * 86_400],
  lines: Object.fromEntries(Object.entries(values).map(([key, of]) => [key, [...rows.map(of), null]])),
})

function Sums({ totals, streaks, records, zones, sync_command: command }: View) {
  if (totals.length === 0)
    return (
      <p>
        Nothing of this account is mirrored yet. To do it now, type: <code>{command}</code>
      </p>
    )
  const of = (span: Total['span']) => totals.filter((total) => total.span === span)
  const months = of('month').toReversed()
  const years = of('season to date')
  return (
    <>
      <Section id="years-title" title="Years so far">
        <Table caption="Up to today’s month and day" columns={yearsSoFar(years)} rows={years} />
        <Table folded="Whole years" caption="Newest first" columns={TOTALS} rows={of('season')} />
      </Section>
      <Section id="streaks-title" title="Streaks">
        <Numbers
          numbers={streaks.map(({ unit, is_current: isCurrent, length, first, last }) => [
            `${unit === 'day' ? 'Days' : 'Weeks'}, ${isCurrent ? 'current streak' : 'longest finished streak'}`,
            formatNumber(length),
            first === last ? formatDay(first) : `${formatDay(first)} to ${formatDay(last)}`,
          ])}
        />
      </Section>
      <Section id="months-title" title="Months">
        <Chart spec={MONTHS} columns={plot(months, 31, MONTH_VALUES)}>
          By the local day of each activity. Distance, ascent and XSS are the service’s values; moving time
          and work are derived from the samples.
        </Chart>
        <Table folded caption="Newest first" columns={TOTALS} rows={of('month')} />
      </Section>
      {zones.length > 0 && (
        <Section id="zones-title" title="Power zones by week">
          <Chart spec={ZONES} columns={plot(zones, 7, ZONE_VALUES)}>
            Hours below 55, 75, 90, 105, 120 and 150 % of each day’s threshold power, and above.
          </Chart>
        </Section>
      )}
      {records.length > 0 && (
        <Section id="records-title" title="Records">
          <Table caption="Breakthroughs and medals, newest first" columns={RECORDS} rows={records} />
        </Section>
      )}
    </>
  )
}

import type { ActivityLine } from '../../../store/dashboard/page-rows.ts'
import type { Serialized } from '../../dashboard/dashboard-types.ts'
import { type Child, type Mood, make, makeBadge, ROOT } from '../dom.ts'
import { formatDistance, formatNumber, formatStopwatch, formatWallClock } from '../format.ts'
import { type Column, makeSection, makeTable, withAccount } from '../table.ts'

type Line = Serialized<ActivityLine>

const COLUMNS: readonly Column<Line>[] = [
  { title: 'Activity', names: true, cell: makeName },
  { title: 'Started', wide: true, cell: (line) => formatWallClock(line.started_at_local) },
  { title: 'Time', number: true, cell: (line) => formatStopwatch(line.elapsed_s) },
  { title: 'Distance', number: true, cell: (line) => formatDistance(line.distance_km) },
  { title: 'Power', number: true, cell: (line) => formatNumber(line.avg_power, 'W') },
  { title: 'XSS', number: true, cell: (line) => formatNumber(line.xss) },
  { title: 'Type', wide: true, cell: (line) => line.activity_type },
]

function columnsOf(several: boolean): readonly Column<Line>[] {
  return withAccount(COLUMNS, several)
}

/** Makes the list of the newest activities. */
export function makeActivities(input: { lines: readonly Line[]; several: boolean }): Child[] {
  const { lines, several } = input
  if (lines.length === 0) return []
  const table = makeTable('On each activity’s own clock, newest first', columnsOf(several), lines)
  const all = document.querySelector(`nav [href="${ROOT}/activities"]`)
  const link = all && make('p', {}, make('a', { href: '/activities' }, 'All activities'))
  return [makeSection('activities-title', 'Recent activities', table, link)]
}

function makeName(line: Line): HTMLElement {
  const link = make('a', { href: `/activities/${line.activity_id}` }, line.name || 'without a name')
  const badge = badgeOf(line)
  return make('span', {}, link, badge && ' ', badge)
}

function badgeOf({ detail_state: state, breakthrough }: Line): Child {
  const states: Readonly<Record<string, [string, Mood]>> = {
    wanted: ['to be fetched', 'busy'],
    awaiting_samples: ['awaits its samples', 'busy'],
    failed: ['failed', 'bad'],
  }
  const [text, mood] = states[state] ?? []
  if (text && mood) return makeBadge(text, mood)
  return (breakthrough ?? 0) > 0 ? makeBadge('breakthrough', 'good') : null
}

import type { ActivityLine, Told } from '../../views.ts'
import { type Mood, makeBadge } from '../badge.ts'
import { type Child, make } from '../dom.ts'
import { formatNumber, formatStopwatch, formatWallClock } from '../format.ts'
import { type Column, makeSection, makeTable } from '../table.ts'
import { withAccount } from './of-account.ts'

type Line = Told<ActivityLine>

const COLUMNS: readonly Column<Line>[] = [
  { title: 'Activity', names: true, cell: makeName },
  { title: 'Started', wide: true, cell: (line) => formatWallClock(line.started_at_local) },
  { title: 'Time', number: true, cell: (line) => formatStopwatch(line.elapsed_s) },
  { title: 'Distance', number: true, cell: (line) => formatNumber(line.distance_km, 'km', 1) },
  { title: 'Power', number: true, cell: (line) => formatNumber(line.avg_power, 'W') },
  { title: 'XSS', number: true, cell: (line) => formatNumber(line.xss) },
  { title: 'Type', wide: true, cell: (line) => line.activity_type },
]

/** The columns of a list of activities. */
export function columnsOf(several: boolean): readonly Column<Line>[] {
  return withAccount(COLUMNS, several)
}

/** Makes the list of the newest activities. */
export function makeActivities(input: { lines: readonly Line[]; several: boolean }): Child[] {
  const { lines, several } = input
  if (lines.length === 0) return []
  const table = makeTable('On each activity’s own clock, newest first', columnsOf(several), lines)
  return [makeSection('activities-title', 'Recent activities', table)]
}

function makeName(line: Line): HTMLElement {
  const link = make('a', { href: `/activities/${line.activity_id}` }, line.name || 'without a name')
  const badge = badgeOf(line)
  return make('span', {}, link, badge && ' ', badge)
}

function badgeOf({ detail_state: state, breakthrough }: Line): Child {
  const told: Readonly<Record<string, [string, Mood]>> = {
    wanted: ['to be fetched', 'busy'],
    awaiting_samples: ['awaits its samples', 'busy'],
    failed: ['failed', 'bad'],
  }
  const [text, mood] = told[state] ?? []
  if (text && mood) return makeBadge(text, mood)
  return (breakthrough ?? 0) > 0 ? makeBadge('breakthrough', 'good') : null
}

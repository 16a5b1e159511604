import type { ActivityLine } from '../../../store/dashboard/page-rows.ts'
import type { Serialized } from '../../dashboard/dashboard-types.ts'
import { type Child, type Mood, make, makeBadge } from '../dom.ts'
import { formatDistance, formatNumber, formatStopwatch, formatWallClock } from '../format.ts'
import { fetchJson, showState } from '../live.ts'
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
  return [makeSection('activities-title', 'Recent activities', table)]
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

/**
 * Makes the button that adds the next older activities below. `start` must be called whenever the newest are drawn, with
 * the last of them, after which the older ones begin.
 */
export function makeOlder(): { element: HTMLElement; start(last: Line | undefined, several: boolean): void } {
  const added = make('div')
  const button = make('button', { type: 'button' }, 'Show older')
  const element = make('div', { class: 'older', hidden: true }, added, button)
  let begins: number | undefined
  let after: number | undefined
  let columns = columnsOf(false)

  const add = async () => {
    button.disabled = true
    const answer = await fetchJson<readonly Line[]>(`/api/activities?older_than=${after}`)
    button.disabled = false
    if (answer.kind === 'problem') showState(answer.problem)
    if (answer.kind !== 'data') return
    after = answer.data.at(-1)?.activity_id ?? after
    button.hidden = answer.data.length === 0
    if (answer.data.length > 0) added.append(makeTable('Older activities', columns, answer.data))
    else added.append(make('p', { class: 'quiet' }, 'There are no older ones.'))
  }
  button.addEventListener('click', add)

  return {
    element,
    start(last, several) {
      columns = columnsOf(several)
      element.hidden = last === undefined
      if (last === undefined || last.activity_id === begins) return
      begins = last.activity_id
      after = begins
      button.hidden = false
      const open = added.childElementCount > 0
      // A new activity has pushed one out of the newest: the open list begins anew, so that none is missing between.
      added.replaceChildren()
      if (open) void add()
    },
  }
}

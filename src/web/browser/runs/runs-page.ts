import type { RunView, Serialized } from '../../dashboard/dashboard-types.ts'
import { type Child, find, type Mood, make, makeBadge, makePlace } from '../dom.ts'
import { formatNumber } from '../format.ts'
import { follow, makeAgo } from '../live.ts'
import { type Column, makeTable, withAccount } from '../table.ts'

type Run = Serialized<RunView>

/** A run takes seconds. */
const POLL_EVERY_MS = 3_000

const RUN_MOODS: Readonly<Record<string, Mood>> = {
  done: 'good',
  running: 'busy',
  partial: 'bad',
  failed: 'bad',
  abandoned: 'bad',
}

const RUNS: readonly Column<Run>[] = [
  { title: 'Run', names: true, cell: ({ resource, kind }) => `${resource.replaceAll('_', ' ')}: ${kind}` },
  { title: 'Outcome', cell: ({ outcome }) => makeBadge(outcome, RUN_MOODS[outcome] ?? 'plain') },
  { title: 'Started', cell: (run) => makeAgo(run.started_at) },
  { title: 'Listed', number: true, cell: ({ listed }) => count(listed) },
  { title: 'Changed', number: true, cell: ({ changed }) => count(changed) },
  { title: 'Fetched', number: true, cell: ({ fetched }) => count(fetched) },
  { title: 'Failed', number: true, cell: ({ failed }) => count(failed) },
  { title: 'Reason', wide: true, cell: ({ error }) => error },
]

const place = make('div')
const draw = makePlace(place, makeRuns)

await follow<{ runs: readonly Run[]; several: boolean }>('/api/runs', {
  everyMs: POLL_EVERY_MS,
  onData(view) {
    if (!place.isConnected) find('#main').replaceChildren(make('h1', {}, 'Runs'), place)
    draw(view)
  },
})

/** Makes the list of the last runs. */
function makeRuns({ runs, several }: { runs: readonly Run[]; several: boolean }): Child[] {
  if (runs.length === 0)
    return [
      make(
        'p',
        {},
        'Nothing has run yet. To start, type: ',
        make('code', {}, 'musette login --username you@example.com'),
      ),
    ]
  return [makeTable('Newest first', withAccount(RUNS, several), runs)]
}

function count(number: number | null): string {
  return number === null ? '' : formatNumber(number)
}

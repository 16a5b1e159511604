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
  { title: 'Brought', wide: true, cell: describe },
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

/** Says in words what a run brought: what it found to fetch or change, what it fetched, and what failed. */
function describe({ listed, changed, fetched, absent, failed, resource, kind, outcome }: Run): Child {
  if (outcome === 'running') return ''
  const isPoll = resource === 'activities' && kind !== 'fetch'
  const found: ReadonlyArray<[number | null, string]> = [
    // A poll only marks activities; the fetch that follows is a run of its own.
    [changed, isPoll ? 'new or to be looked at again' : 'changed'],
    // Training info is fetched by each poll, whether it has changed or not.
    [resource === 'training_info' ? null : fetched, 'fetched'],
    [absent, 'gone from the service'],
    [failed, 'failed'],
  ]
  const brought = found.flatMap(([number, what]) => (number ? [`${formatNumber(number)} ${what}`] : []))
  if (brought.length === 0)
    return make(
      'span',
      { class: 'quiet' },
      listed ? `nothing new in ${formatNumber(listed)} listed` : 'nothing new',
    )
  return brought.join(', ')
}

import { FirstSteps } from '../../shared/first-steps.tsx'
import { formatNumber } from '../../shared/format.ts'
import { showPage } from '../../shared/frame.tsx'
import { useLive } from '../../shared/live.tsx'
import { Ago, Badge, type Mood, Waiting } from '../../shared/parts.tsx'
import { type Column, Table, withAccount } from '../../shared/table.tsx'
import type { View } from './queries.ts'

type Run = View['runs'][number]

/** A run takes seconds. */
const POLL_EVERY_MS = 3_000

const MOODS: Readonly<Record<string, Mood>> = {
  done: 'good',
  running: 'busy',
  partial: 'bad',
  failed: 'bad',
  abandoned: 'bad',
}

const RUNS: readonly Column<Run>[] = [
  { title: 'Run', names: true, cell: ({ resource, kind }) => `${resource.replaceAll('_', ' ')}: ${kind}` },
  { title: 'Outcome', cell: ({ outcome }) => <Badge mood={MOODS[outcome] ?? 'plain'}>{outcome}</Badge> },
  { title: 'Started', cell: (run) => <Ago at={run.started_at} /> },
  { title: 'Brought', wide: true, cell: describe },
  { title: 'Reason', wide: true, cell: ({ error }) => error },
]

showPage(<Runs />)

/** The last runs. */
function Runs() {
  const view = useLive<View>('/api/runs', POLL_EVERY_MS)
  if (!view) return <Waiting />
  return (
    <>
      <h1>Runs</h1>
      {view.accounts === 0 ? (
        <FirstSteps />
      ) : view.runs.length === 0 ? (
        <p>
          Nothing has run yet. To start, type: <code>musette sync</code>
        </p>
      ) : (
        <Table caption="Newest first" columns={withAccount(RUNS, view.accounts > 1)} rows={view.runs} />
      )}
    </>
  )
}

/** Describes the result of a run: found, fetched and failed items. */
function describe({ listed, changed, fetched, absent, failed, resource, kind, outcome }: Run) {
  if (outcome === 'running') return ''
  const isPoll = resource === 'activities' && kind !== 'fetch'
  const isScrub = resource === 'scrub'
  const changedWord = isScrub ? 'differed, recorded now' : 'changed'
  const found: ReadonlyArray<[number | null, string]> = [
    // A poll only marks activities; the fetch that follows is a run of its own.
    [changed, isPoll ? 'new or to be looked at again' : changedWord],
    // Every poll fetches training info, changed or not.
    [resource === 'training_info' ? null : fetched, 'fetched'],
    [absent, 'gone from the service'],
    [failed, 'failed'],
  ]
  const brought = found.flatMap(([number, what]) => (number ? [`${formatNumber(number)} ${what}`] : []))
  if (brought.length > 0) return brought.join(', ')
  if (isScrub) return <span class="quiet">{formatNumber(listed ?? 0)} compared, all the same</span>
  return <span class="quiet">{listed ? `nothing new in ${formatNumber(listed)} listed` : 'nothing new'}</span>
}

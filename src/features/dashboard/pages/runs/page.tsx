import { FirstSteps } from '../../shared/first-steps.tsx'
import { formatNumber, formatSpan } from '../../shared/format.ts'
import { showPage } from '../../shared/frame.tsx'
import { useLive } from '../../shared/live.tsx'
import { Ago, Badge, Link, type Mood, Numbers, Section, Waiting } from '../../shared/parts.tsx'
import { type Column, Table, withAccount } from '../../shared/table.tsx'
import type { View } from './queries.ts'

type Run = View['runs'][number]
type Queue = View['queues'][number]
type Job = Queue['jobs'][number]
type Schedule = Queue['schedules'][number]

/** Poll interval, ms: a run takes seconds. */
const POLL_EVERY_MS = 3_000

const MOODS: Readonly<Record<string, Mood>> = {
  done: 'good',
  running: 'busy',
  partial: 'bad',
  failed: 'bad',
  abandoned: 'bad',
}

const RUNS: readonly Column<Run>[] = [
  { title: 'Run', names: 'runId', cell: ({ resource, kind }) => `${resource.replaceAll('_', ' ')}: ${kind}` },
  { title: 'Outcome', cell: ({ outcome }) => <Badge mood={MOODS[outcome] ?? 'plain'}>{outcome}</Badge> },
  { title: 'Started', cell: (run) => <Ago at={run.startedAt} /> },
  { title: 'Brought', wide: true, cell: describe },
  { title: 'Reason', wide: true, cell: ({ error }) => error },
]

const JOBS: readonly Column<Job>[] = [
  { title: 'Job', names: 'id', cell: (job) => <JobName {...job} /> },
  {
    title: 'State',
    cell: ({ has_failed: failed }) => (
      <Badge mood={failed ? 'bad' : 'busy'}>{failed ? 'failed' : 'running'}</Badge>
    ),
  },
  { title: 'Since', cell: ({ at }) => at && <Ago at={at} /> },
  { title: 'Attempts', number: true, cell: ({ attempts }) => formatNumber(attempts) },
  { title: 'Reason', wide: true, cell: ({ reason }) => reason },
]

const SCHEDULES: readonly Column<Schedule>[] = [
  { title: 'Job', names: 'key', cell: (schedule) => <JobName {...schedule} /> },
  { title: 'Every', cell: ({ every_s: s }) => (s === null ? '' : formatSpan(s)) },
  { title: 'Next', cell: ({ next_at: at }) => at && <Ago at={at} /> },
]

showPage(<Runs />)

/** The last runs, and the queues with the coming jobs. */
function Runs() {
  const view = useLive<View>('/api/runs', POLL_EVERY_MS, ({ queue_problem: problem }) =>
    problem === null
      ? undefined
      : { text: `Not now: ${problem}. For details, run:`, command: 'musette doctor' },
  )
  if (!view) return <Waiting />
  const several = view.accounts > 1
  if (view.accounts === 0)
    return (
      <>
        <h1>Runs</h1>
        <FirstSteps />
      </>
    )
  return (
    <>
      <h1>Runs</h1>
      {view.runs.length === 0 ? (
        <p>
          Nothing has run yet. To start, run: <code>musette sync</code>
        </p>
      ) : (
        <>
          <p>
            <a href="#queues">Go to the queues</a>
          </p>
          <Table caption="Newest first" columns={withAccount(RUNS, several)} rows={view.runs} />
        </>
      )}
      <p class="quiet" id="queues">
        The queues hold the jobs of all processes. A failed job is kept for a week; the next scheduled job
        does its work again. This page changes nothing. To see what is wrong, run: <code>musette doctor</code>
      </p>
      {view.queues.map((queue) => (
        <QueueSection key={queue.name} queue={queue} several={several} />
      ))}
    </>
  )
}

/** Describes the result of a run: the numbers of found, fetched and failed items. */
function describe({ listed, changed, fetched, absent, failed, resource, kind, outcome }: Run) {
  if (outcome === 'running') return ''
  const isPoll = resource === 'activities' && kind !== 'fetch'
  const isScrub = resource === 'scrub'
  const changedWord = isScrub ? 'corrected' : 'changed'
  const found: ReadonlyArray<[number | null, string]> = [
    // A poll only marks changed activities; the daemon fetches them later.
    [changed, isPoll ? 'to fetch' : changedWord],
    // Leaves out fetched training info, because every poll fetches it, changed or not.
    [resource === 'training_info' ? null : fetched, 'fetched'],
    [absent, 'no longer listed'],
    [failed, 'failed'],
  ]
  const brought = found.flatMap(([number, what]) => (number ? [`${formatNumber(number)} ${what}`] : []))
  if (brought.length > 0) return brought.join(', ')
  if (isScrub) return <span class="quiet">{formatNumber(listed ?? 0)} compared, no differences</span>
  return <span class="quiet">{listed ? `nothing new in ${formatNumber(listed)} listed` : 'nothing new'}</span>
}

function QueueSection({ queue, several }: { queue: Queue; several: boolean }) {
  const { name, jobs, schedules } = queue
  return (
    <Section id={`queue-${name}`} title={`Queue: ${name}`}>
      <Numbers
        numbers={[
          ['waiting', formatNumber(queue.waiting)],
          ['running', formatNumber(queue.active)],
          ['scheduled for later', formatNumber(queue.delayed)],
          ['failed in the last week', formatNumber(queue.failed)],
          ['done in the last hour', formatNumber(queue.completed)],
        ]}
      />
      {jobs.length > 0 && (
        <Table
          caption="Running and failed jobs, newest first"
          columns={withAccount(JOBS, several)}
          rows={jobs}
        />
      )}
      {schedules.length > 0 && (
        <Table caption="Scheduled jobs" columns={withAccount(SCHEDULES, several)} rows={schedules} />
      )}
    </Section>
  )
}

function JobName({ job, activity_id: id }: Pick<Job, 'job' | 'activity_id'>) {
  const name = job.replaceAll('-', ' ')
  return id === null ? name : <Link to={`/activities/${id}`}>{name}</Link>
}

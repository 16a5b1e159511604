import { formatNumber, formatSpan } from '../../shared/format.ts'
import { showPage } from '../../shared/frame.tsx'
import { useLive } from '../../shared/live.tsx'
import { Ago, Badge, Link, Numbers, Section, Waiting } from '../../shared/parts.tsx'
import { type Column, Table, withAccount } from '../../shared/table.tsx'
import type { View } from './queries.ts'

type Queue = View['queues'][number]
type Job = Queue['jobs'][number]
type Schedule = Queue['schedules'][number]

/** A job takes seconds. */
const POLL_EVERY_MS = 3_000

const JOBS: readonly Column<Job>[] = [
  { title: 'Job', names: true, cell: (job) => <JobName {...job} /> },
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
  { title: 'Job', names: true, cell: (schedule) => <JobName {...schedule} /> },
  { title: 'Every', cell: ({ every_s: s }) => (s === null ? '' : formatSpan(s)) },
  { title: 'Next', cell: ({ next_at: at }) => at && <Ago at={at} /> },
]

showPage(<Queues />)

/** The content of the queues. */
function Queues() {
  const view = useLive<View>('/api/queues', POLL_EVERY_MS)
  if (!view) return <Waiting />
  return (
    <>
      <h1>Queues</h1>
      <p class="quiet">
        The jobs of all processes. A failed job is kept for a week; what it was for is tried again by the next
        scheduled one. Nothing can be changed here. To see what is wrong, type: <code>musette doctor</code>
      </p>
      {view.queues.map((queue) => (
        <QueueSection key={queue.name} queue={queue} several={view.several} />
      ))}
    </>
  )
}

function QueueSection({ queue, several }: { queue: Queue; several: boolean }) {
  const { name, jobs, schedules } = queue
  return (
    <Section id={`queue-${name}`} title={name}>
      <Numbers
        numbers={[
          ['waiting', formatNumber(queue.waiting)],
          ['running', formatNumber(queue.active)],
          ['waiting for their time', formatNumber(queue.delayed)],
          ['failed in a week', formatNumber(queue.failed)],
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

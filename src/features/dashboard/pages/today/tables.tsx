import {
  formatDistance,
  formatName,
  formatNumber,
  formatSpan,
  formatStopwatch,
  formatWallClock,
  nameOr,
} from '../../shared/format.ts'
import {
  ActivityBadge,
  ActivityLink,
  Ago,
  Badge,
  ENDED,
  Link,
  type Mood,
  Section,
} from '../../shared/parts.tsx'
import { type Column, Table, withAccount } from '../../shared/table.tsx'
import type { View } from './queries.ts'

type Line = View['activities'][number]
type Upload = View['uploads'][number]
type WaitingFile = View['waiting'][number]
type FailedActivity = View['failed'][number]

const ACTIVITIES: readonly Column<Line>[] = [
  { title: 'Activity', names: 'activity_id', cell: (line) => <ActivityName line={line} /> },
  { title: 'Started', wide: true, whole: true, cell: (line) => formatWallClock(line.started_at_local) },
  { title: 'Time', number: true, cell: (line) => formatStopwatch(line.elapsed_s) },
  { title: 'Distance', number: true, cell: (line) => formatDistance(line.distance_km) },
  { title: 'Power', number: true, cell: (line) => formatNumber(line.avg_power, 'W') },
  { title: 'XSS', number: true, cell: (line) => formatNumber(line.xss) },
  { title: 'Type', wide: true, cell: (line) => line.activity_type },
]

function ActivityName({ line }: { line: Line }) {
  return (
    <span>
      <ActivityLink id={line.activity_id} name={line.name} /> <ActivityBadge {...line} />
    </span>
  )
}

/** The newest activities. */
export function Activities({ lines, several }: { lines: readonly Line[]; several: boolean }) {
  if (lines.length === 0) return null
  return (
    <Section id="activities-title" title="Recent activities">
      <Table
        caption="In each activity’s local time, newest first"
        columns={withAccount(ACTIVITIES, several)}
        rows={lines}
      />
      <p>
        <Link to="/activities">All activities</Link>
      </p>
    </Section>
  )
}

const UPLOAD_MOODS: Readonly<Record<string, Mood>> = { ...ENDED, unconfirmed: 'bad' }

const UPLOADS: readonly Column<Upload>[] = [
  { title: 'File', names: 'seen_at', cell: (upload) => formatName(upload.file_name) },
  { title: 'State', cell: ({ state }) => <Badge mood={UPLOAD_MOODS[state] ?? 'busy'}>{state}</Badge> },
  { title: 'Seen', cell: (upload) => <Ago at={upload.seen_at} /> },
  {
    title: 'Became',
    wide: true,
    cell: ({ activity_id: id, activity_name: name }) => id !== null && <ActivityLink id={id} name={name} />,
  },
  { title: 'XSS', number: true, cell: ({ xss }) => (xss === null ? '' : formatNumber(xss)) },
  { title: 'Took', number: true, cell: ({ took_s }) => (took_s === null ? '' : formatSpan(took_s)) },
  { title: 'Reason', wide: true, cell: ({ reason }) => reason },
]

/** The files of the drop folder, with the reason for each failure. */
export function Uploads({ uploads, several }: { uploads: readonly Upload[]; several: boolean }) {
  return (
    <Section id="uploads-title" title="Uploads">
      {uploads.length === 0 ? (
        <p>
          No files yet. Put a .fit, .fit.gz or .zip file into the drop folder, or run:{' '}
          <code>musette upload FILE</code>
        </p>
      ) : (
        <Table caption="Last seen first" columns={withAccount(UPLOADS, several)} rows={uploads} />
      )}
    </Section>
  )
}

const WAITING: readonly Column<WaitingFile>[] = [
  { title: 'File', names: 'path', cell: ({ path }) => path },
  { title: 'Since', cell: ({ waiting_since: since }) => <Ago at={since} /> },
  { title: 'Waits', wide: true, cell: ({ reason }) => reason },
]

/** The files that wait in the drop folder; nothing if there are none. */
export function WaitingFiles({ files }: { files: readonly WaitingFile[] }) {
  if (files.length === 0) return null
  return (
    <Section id="waiting-title" title="Waiting in the drop folder">
      <Table caption="Files that need your help, longest waiting first" columns={WAITING} rows={files} />
    </Section>
  )
}

const FAILED: readonly Column<FailedActivity>[] = [
  {
    title: 'Activity',
    names: 'activity_id',
    cell: ({ activity_id: id, name, path }) => <ActivityLink id={id} name={nameOr(name, path)} />,
  },
  { title: 'Reason', wide: true, cell: ({ reason }) => reason },
  { title: 'Next attempt', cell: ({ next_try_at: at }) => at && <Ago at={at} /> },
]

/** The failed activities; nothing if there are none. */
export function Failed({ failed, several }: { failed: readonly FailedActivity[]; several: boolean }) {
  const [first] = failed
  if (!first) return null
  return (
    <Section id="failed-title" title="Failed activities">
      <Table
        caption="musette retries these with growing pauses"
        columns={withAccount(FAILED, several)}
        rows={failed}
      />
      <p class="quiet">
        To retry now, run: <code>{first.resync_command}</code>
      </p>
    </Section>
  )
}

/** The scheduled backups in one line; nothing if no backups are configured. */
export function Backup({ backup }: { backup: View['backup'] }) {
  if (!backup) return null
  const { done_at: doneAt, bytes } = backup
  return (
    <Section id="backup-title" title="Backups">
      {doneAt ? (
        <p>
          Last one made <Ago at={doneAt} />
          {bytes === null ? '' : `, ${formatNumber(bytes / 1e6, 'MB', 1)}`}
        </p>
      ) : (
        <p>None yet</p>
      )}
    </Section>
  )
}

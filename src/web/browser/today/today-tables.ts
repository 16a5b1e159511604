import type { UploadLine } from '../../../store/dashboard/page-rows.ts'
import type {
  BackupView,
  FailedView,
  ProblemView,
  Serialized,
  WaitingView,
} from '../../dashboard/dashboard-types.ts'
import { type Child, type Mood, make, makeBadge } from '../dom.ts'
import { formatNumber, formatSpan } from '../format.ts'
import { makeAgo, makeNotice } from '../live.ts'
import { type Column, makeSection, makeTable, withAccount } from '../table.ts'
import { makeHomeNotice } from './home-notice.ts'

type Upload = Serialized<UploadLine>
type Waiting = Serialized<WaitingView>
type Failed = Serialized<FailedView>

const UPLOAD_MOODS: Readonly<Record<string, Mood>> = {
  mirrored: 'good',
  duplicate: 'plain',
  refused: 'bad',
  unconfirmed: 'bad',
}

const UPLOADS: readonly Column<Upload>[] = [
  { title: 'File', names: true, cell: (upload) => upload.file_name },
  { title: 'State', cell: ({ state }) => makeBadge(state, UPLOAD_MOODS[state] ?? 'busy') },
  { title: 'Seen', cell: (upload) => makeAgo(upload.seen_at) },
  { title: 'Became', wide: true, cell: makeActivityLink },
  { title: 'XSS', number: true, cell: ({ xss }) => (xss === null ? '' : formatNumber(xss)) },
  { title: 'Took', number: true, cell: ({ took_s }) => (took_s === null ? '' : formatSpan(took_s)) },
  { title: 'Reason', wide: true, cell: ({ reason }) => reason },
]

const WAITING: readonly Column<Waiting>[] = [
  { title: 'File', names: true, cell: ({ path }) => path },
  { title: 'Since', cell: ({ waiting_since }) => makeAgo(waiting_since) },
  { title: 'Waits', wide: true, cell: ({ reason }) => reason },
]

const FAILED: readonly Column<Failed>[] = [
  { title: 'Activity', names: true, cell: makeFailedLink },
  { title: 'Reason', wide: true, cell: ({ reason }) => reason },
  { title: 'Next attempt', cell: ({ next_try_at: at }) => at && makeAgo(at) },
]

/** Makes the list of files of the drop folder, with the reason of each failure. */
export function makeUploads({ uploads, several }: { uploads: readonly Upload[]; several: boolean }): Child[] {
  const empty = make(
    'p',
    {},
    'No file has been dropped yet. Put a .fit, .fit.gz or .zip into the drop folder, or type ',
    make('code', {}, 'musette upload FILE'),
  )
  const shown =
    uploads.length === 0 ? empty : makeTable('Last seen first', withAccount(UPLOADS, several), uploads)
  return [makeSection('uploads-title', 'Uploads', shown)]
}

/** Makes the list of files that wait in the drop folder; nothing when all is well. */
export function makeWaiting({ waiting }: { waiting: readonly Waiting[] }): Child[] {
  if (waiting.length === 0) return []
  const table = makeTable('Files that need a person, the longest first', WAITING, waiting)
  return [makeSection('waiting-title', 'Waiting in the drop folder', table)]
}

/** Makes the list of failed activities; nothing when there is none. */
export function makeFailed({ failed, several }: { failed: readonly Failed[]; several: boolean }): Child[] {
  if (failed.length === 0) return []
  const table = makeTable(
    'Fetched again by themselves, with growing pauses',
    withAccount(FAILED, several),
    failed,
  )
  const help = make(
    'p',
    { class: 'quiet' },
    'To do it now, type ',
    make('code', {}, failed[0]?.resync_command ?? ''),
  )
  return [makeSection('failed-title', 'Failed activities', table, help)]
}

/** Makes the line of the scheduled backups; nothing when none are configured. */
export function makeBackup(backup: Serialized<BackupView> | null): Child[] {
  if (!backup) return []
  const { done_at: doneAt, bytes } = backup
  const size = bytes === null ? '' : `, ${formatNumber(bytes / 1e6, 'MB', 1)}`
  const line = doneAt ? make('p', {}, 'Last one made ', makeAgo(doneAt), size) : make('p', {}, 'None yet')
  return [makeSection('backup-title', 'Backups', line)]
}

/** Makes a notice of each problem, with the command to type. */
export function makeProblems(problems: readonly Serialized<ProblemView>[]): Child[] {
  return problems.map(({ text, command, calm, home_of: account }) =>
    account !== undefined && command !== null
      ? makeHomeNotice({ text, command, account })
      : makeNotice({ text, ...(command !== null && { command }), ...(calm && { calm }) }),
  )
}

function makeActivityLink({ activity_id: id, activity_name: name }: Upload): Child {
  return id !== null && make('a', { href: `/activities/${id}` }, name || 'without a name')
}

function makeFailedLink({ activity_id: id, name, path }: Failed): HTMLElement {
  return make('a', { href: `/activities/${id}` }, name || path)
}

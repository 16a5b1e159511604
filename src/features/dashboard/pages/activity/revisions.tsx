import { formatNumber } from '../../shared/format.ts'
import { Ago, FoldedSection } from '../../shared/parts.tsx'
import { type Column, Table } from '../../shared/table.tsx'
import type { View } from './queries.ts'

type Change = { id: string; at: string; column: string; before: unknown; after: unknown }

/** Names of columns on the page; other columns keep their SQL name. */
const NAMES: Readonly<Record<string, string>> = {
  name: 'Name',
  description: 'Description',
  activity_type: 'Type',
  xss: 'XSS',
  xlss: 'XSS, low',
  xhss: 'XSS, high',
  xpss: 'XSS, peak',
  sig_ftp: 'FTP afterwards, W',
  sig_pp: 'Peak power afterwards, W',
  sig_atc: 'Signature number atc afterwards',
  avg_power: 'Mean power, W',
  max_power: 'Highest power, W',
  difficulty: 'Difficulty',
  distance: 'Distance, km',
  breakthrough: 'Breakthrough',
  medal: 'Medal',
}
const FEW = 6

const COLUMNS: readonly Column<Change>[] = [
  { title: 'What', names: 'id', cell: ({ column }) => NAMES[column] ?? column },
  { title: 'Before', cell: ({ before }) => write(before) },
  { title: 'After', cell: ({ after }) => write(after) },
  { title: 'Seen', cell: ({ at }) => <Ago at={at} /> },
]

/** The service's changes since the activity was first fetched, if any. */
export function Revisions({ revisions }: { revisions: View['revisions'] }) {
  const changes = revisions.flatMap(({ observed_at: at, changes: all }) =>
    Object.entries(all).map(([column, [before, after]]) => ({ id: at + column, at, column, before, after })),
  )
  if (changes.length === 0) return null
  return (
    <FoldedSection id="revisions-title" title="What the service changed">
      <Table folded={changes.length > FEW} caption="Last change first" columns={COLUMNS} rows={changes} />
      <p class="quiet">In SQL: training.activity_revisions</p>
    </FoldedSection>
  )
}

function write(value: unknown): string {
  if (value === null || value === undefined) return '–'
  if (typeof value === 'number') return formatNumber(value, '', 2)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

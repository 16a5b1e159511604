import { findSamplePages, SAMPLE_COLUMNS } from '../samples/export-rows.ts'
import { activities, powerCurves, trainingInfo } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import { findColumnPages } from './column-pages.ts'
import { columnsOf, type ExportColumn, type ExportPage, makeSelection } from './exported-columns.ts'

/** The tables of an export of the whole history, in the order in which they are written. */
const TABLES = ['activities', 'samples', 'power_curves', 'revisions', 'training_info'] as const
type TableName = (typeof TABLES)[number]

/**
 * The rows that one file holds: those of a table, an account and a year, of samples those of a month. The year and the month are
 * those of the activity's start on its own wall clock, null when that is not known; of training info those of `observed_at` in
 * UTC. Two equal fingerprints mean equal rows.
 */
export type Partition = Readonly<{
  table: TableName
  accountId: number
  account: string
  year: number | null
  month: number | null
  rows: number
  fingerprint: string
}>

/** The content of a partition, in the order of its rows. */
export type PartitionContent = Readonly<{
  columns: readonly ExportColumn[]
  pages: AsyncIterable<ExportPage>
}>

const YEAR = "case when isfinite(v.started_at_local) then date_part('year', v.started_at_local)::int end"
const MONTH = "case when isfinite(v.started_at_local) then date_part('month', v.started_at_local)::int end"
const INFO_YEAR = "date_part('year', v.observed_at at time zone 'UTC')::int"

/** What changes with every poll, or serves fetching only, would have a file rewritten that nobody reads anew. */
const OF_FETCHING = [
  ...[
    'listed_at',
    'verified_at',
    'wanted_at',
    'list_fields',
    'detail_fields',
    'summary_hash',
    'next_fetch_at',
    'fetch_attempts',
  ],
  'fetch_error',
]

type Selected = ExportColumn & { from: string }

const selected = (from: string, columns: readonly ExportColumn[]): Selected[] =>
  columns.map((column) => ({ ...column, from }))
/** The columns that say whose a row is. */
const OWNER = selected('v', [
  { name: 'activity_id', type: 'int32' },
  { name: 'path', type: 'text' },
])

/** A table whose rows one query selects: its columns, and what stands between FROM and ORDER BY. */
type PlainTable = Readonly<{ columns: readonly Selected[]; from: string; year: string; order: string }>

const PLAIN: Readonly<Record<Exclude<TableName, 'samples'>, PlainTable>> = {
  activities: {
    columns: selected('v', columnsOf(activities, OF_FETCHING)),
    from: 'training.activities v',
    year: YEAR,
    order: 'v.started_at, v.activity_id',
  },
  power_curves: {
    columns: [
      ...OWNER,
      { name: 'started_at_local', type: 'wall_clock', from: 'v' },
      ...selected('c', columnsOf(powerCurves, ['activity_id', 'account_id', 'season', 'started_at_local'])),
    ],
    from: 'training.activities v join training.power_curves c using (activity_id)',
    year: YEAR,
    order: 'v.started_at, v.activity_id, c.duration_s',
  },
  revisions: {
    columns: [
      ...OWNER,
      { name: 'observed_at', type: 'instant', from: 'r' },
      { name: 'changes', type: 'text', from: 'r' },
    ],
    from: 'training.activities v join training.activity_revisions r using (activity_id)',
    year: YEAR,
    order: 'r.observed_at, v.activity_id',
  },
  training_info: {
    columns: selected('v', columnsOf(trainingInfo)),
    from: 'training.training_info v',
    year: INFO_YEAR,
    order: 'v.observed_at',
  },
}

// Every rewrite of samples, extras or curve gives the activity another version; start and path stand in their rows too.
const CONTENT = `concat_ws(':', v.activity_id, v.path, v.sample_count, v.started_at, v.started_at_local, c.version)`
const WITH_CONTENT = 'training.activities v left join musette.content_versions c using (activity_id)'
const ACTIVITY = PLAIN.activities.columns.map(({ name }) => `v.${name}`)

/** What a partition's fingerprint is made from: a text for each of these rows, in a fixed order, and how many rows they stand for. */
const PRINTS: Readonly<
  Record<TableName, { text: string; order: string; from: string; year: string; month?: string; rows: string }>
> = {
  activities: {
    text: `md5(row(${ACTIVITY.join(', ')})::text)`,
    order: 'v.activity_id',
    from: 'training.activities v where true',
    year: YEAR,
    rows: 'count(*)',
  },
  samples: {
    text: CONTENT,
    order: 'v.activity_id',
    from: `${WITH_CONTENT} where v.sample_count > 0`,
    year: YEAR,
    month: MONTH,
    rows: 'sum(v.sample_count)',
  },
  power_curves: {
    text: CONTENT,
    order: 'v.activity_id',
    from: `${WITH_CONTENT} where exists (select from training.power_curves p where p.activity_id = v.activity_id)`,
    year: YEAR,
    rows: 'count(*)',
  },
  revisions: {
    text: `md5(row(v.path, r.*)::text)`,
    order: 'v.activity_id, r.observed_at',
    from: `${PLAIN.revisions.from} where true`,
    year: YEAR,
    rows: 'count(*)',
  },
  training_info: {
    text: 'md5(v::text)',
    order: 'v.observed_at',
    from: 'training.training_info v where true',
    year: INFO_YEAR,
    rows: 'count(*)',
  },
}

/** Finds what there is to export, by table, account and time; `rows` counts samples, of power curves the activities. */
export async function findPartitions(tx: Tx): Promise<Partition[]> {
  const partitions: Partition[] = []
  for (const table of TABLES) {
    const { text, order, from, year, month = 'null::int', rows: counted } = PRINTS[table]
    const { rows } = await tx.client.query<Omit<Partition, 'table'>>(
      `select a.account_id as "accountId", a.name as account, p.year, p.month, p.rows::float8 as rows, p.fingerprint
       from (select v.account_id, ${year} as year, ${month} as month, ${counted} as rows,
               md5(string_agg(${text}, ',' order by ${order})) as fingerprint
             from ${from} group by 1, 2, 3) p
       join training.accounts a using (account_id) order by a.name collate "C", p.year, p.month`,
    )
    for (const row of rows) partitions.push({ table, ...row })
  }
  return partitions
}

/** Finds the rows of a partition; the pages must be read to their end before another query of the transaction. */
export async function findContent(tx: Tx, partition: Partition): Promise<PartitionContent> {
  const { table, accountId, year } = partition
  if (table === 'samples') return findSamplesContent(tx, partition)
  const { columns, from, year: yearOf, order } = PLAIN[table]
  const query = `select ${columns.map((column) => makeSelection(column.from, column)).join(', ')} from ${from}
                 where v.account_id = ${accountId} and ${yearOf} is not distinct from ${year} order by ${order}`
  return { columns, pages: findColumnPages(tx, query, columns) }
}

async function findSamplesContent(tx: Tx, { accountId, year, month }: Partition): Promise<PartitionContent> {
  const { rows: found } = await tx.client.query<{ activityId: number; path: string }>(
    `select activity_id as "activityId", path from training.activities v
     where account_id = $1 and ${YEAR} is not distinct from $2 and ${MONTH} is not distinct from $3 and sample_count > 0
     order by started_at, activity_id`,
    [accountId, year, month],
  )
  const pages = async function* () {
    for (const activity of found) yield* findSamplePages(tx, activity)
  }
  return { columns: SAMPLE_COLUMNS, pages: pages() }
}

import type { PgTable } from 'drizzle-orm/pg-core'
import * as schema from '../../../core/store/schema/index.ts'
import type { Tx } from '../../../core/store/store.ts'
import { findSamplePages, SAMPLE_COLUMNS } from './export-rows.ts'
import { columnsOf, type ExportColumn, findColumnPages, makeSelection } from './exported-columns.ts'

/**
 * The rows of one file: a table, an account and a year; for samples and FIT records also a month. Year and month come from the activity's
 * local start (null if unknown), or in UTC from the observation of training info, the first sight of a file, or the creation of a change.
 * Workouts are one file. Equal fingerprints mean equal rows.
 */
export type Partition = Readonly<{
  table: string
  accountId: number
  account: string
  year: number | null
  month: number | null
  rows: number
  fingerprint: string
}>

const YEAR = 'training.season_of(v.started_at_local::date)'
const MONTH = "case when isfinite(v.started_at_local) then date_part('month', v.started_at_local)::int end"
const yearOf = (moment: string) => `training.season_of(training.local_day(${moment}, 'UTC'))`
const INFO_YEAR = yearOf('v.observed_at')
const FILE_YEAR = yearOf('u.seen_at')
const FILE_MONTH = `date_part('month', training.local_day(u.seen_at, 'UTC'))::int`

/**
 * Leave out columns that change with every poll or serve only fetching: no reader needs them, and their changes would cause files to be
 * written again.
 */
const OF_FETCHING = [
  ...['listed_at', 'verified_at', 'wanted_at', 'list_fields', 'detail_fields'],
  ...['summary_hash', 'next_fetch_at', 'fetch_attempts', 'fetch_error'],
]

type Selected = ExportColumn & { from: string }

const selected = (from: string, columns: readonly ExportColumn[]): Selected[] =>
  columns.map((column) => ({ ...column, from }))
/** The columns that identify the activity of a row. */
const OWNER = selected('v', [
  { name: 'activity_id', type: 'int32' },
  { name: 'path', type: 'text' },
])

/**
 * The source of a partition's fingerprint: a string for each source row in a fixed order, and the number of exported rows that the source
 * row stands for. For a table without a Print, the fingerprint covers all exported values of the table's rows.
 */
type Print = Readonly<{ text: string; order: string; from: string; rows: string }>

/** A table that a single query reads: its columns, and the SQL between FROM and ORDER BY. */
type PlainTable = Readonly<{
  columns: readonly Selected[]
  from: string
  year: string
  month?: string
  order: string
  print?: Print
}>

/** The rows of a table that belong to a file of the ledger. */
const ofFile = (table: PgTable, name: string, order = 'v.position'): PlainTable => ({
  columns: selected('v', columnsOf(table, ['account_id'])),
  from: `training.${name} v join training.uploads u using (account_id, content_id)`,
  year: FILE_YEAR,
  order: `u.seen_at, v.content_id, ${order}`,
})

/** The rows of a table that refer to their FIT file by `file_id`. */
const ofFileKey = (
  table: PgTable,
  name: string,
  { month, where, rows }: { month?: string; where: string; rows: string },
): PlainTable => ({
  columns: [{ name: 'content_id', type: 'text', from: 'v' }, ...selected('m', columnsOf(table, ['file_id']))],
  from: `training.fit_files v join training.uploads u using (account_id, content_id) join training.${name} m using (file_id)`,
  year: FILE_YEAR,
  ...(month !== undefined && { month }),
  order: 'u.seen_at, v.content_id, m.position',
  // All rows of a file are written at the same time, read_at, so that time identifies them.
  print: {
    text: `concat_ws(':', v.content_id, v.read_at)`,
    order: 'u.seen_at, v.content_id',
    from: `training.fit_files v join training.uploads u using (account_id, content_id) where v.reader_version >= 2${where}`,
    rows,
  },
})

const OF_WORKOUTS = `training.accounts v join training.workouts w
  on w.account_id = v.account_id or (w.account_id is null and w.base_url = v.base_url)`
/** A change without an account concerns the whole database. */
const OF_CHANGES =
  'training.accounts v join training.changes c on c.account_id = v.account_id or c.account_id is null'
/** Columns that change with every attempt to send a file, which no reader needs. */
const OF_SENDING = ['account_id', 'next_try_at', 'resend_after', 'attempts', 'checks']

// Each rewrite of samples, extras or curve changes the activity's version. Start and path are listed because the exported rows contain
// them.
const CONTENT = `concat_ws(':', v.activity_id, v.path, v.sample_count, v.started_at, v.started_at_local, c.version)`
const WITH_CONTENT = 'training.activities v left join musette.content_versions c using (activity_id)'

const SAMPLES = {
  ...{ year: YEAR, month: MONTH },
  print: {
    ...{ text: CONTENT, order: 'v.activity_id', rows: 'sum(v.sample_count)' },
    from: `${WITH_CONTENT} where v.sample_count > 0`,
  },
}

/** The columns of a view, which has no schema in the code: `double` unless a type follows the name. */
const ofView = (columns: string): Selected[] =>
  columns.split(' ').map((column) => {
    const [name = '', type = 'double'] = column.split(':')
    return { name, type: type as ExportColumn['type'], from: 'v' }
  })

/** All tables except samples, and some views, by name. */
const PLAIN: Readonly<Record<string, PlainTable>> = {
  activities: {
    columns: selected('v', columnsOf(schema.activities, OF_FETCHING)),
    from: 'training.activities v',
    year: YEAR,
    order: 'v.started_at, v.activity_id',
  },
  power_curves: {
    columns: [
      ...OWNER,
      { name: 'started_at_local', type: 'wall_clock', from: 'v' },
      ...selected(
        'c',
        columnsOf(schema.powerCurves, ['activity_id', 'account_id', 'season', 'started_at_local']),
      ),
    ],
    from: 'training.activities v join training.power_curves c using (activity_id)',
    year: YEAR,
    order: 'v.started_at, v.activity_id, c.duration_s',
    print: {
      ...{ text: CONTENT, order: 'v.activity_id', rows: 'count(*)' },
      from: `${WITH_CONTENT} where exists (select from training.power_curves p where p.activity_id = v.activity_id)`,
    },
  },
  ride_measures: {
    columns: [
      ...OWNER,
      { name: 'started_at_local', type: 'wall_clock', from: 'v' },
      ...selected('m', columnsOf(schema.activityMeasures, ['activity_id', 'account_id'])),
    ],
    from: 'training.activities v join training.ride_measures m using (activity_id)',
    year: YEAR,
    order: 'v.started_at, v.activity_id',
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
    columns: selected('v', columnsOf(schema.trainingInfo)),
    from: 'training.training_info v',
    year: INFO_YEAR,
    order: 'v.observed_at',
  },
  uploads: {
    columns: selected('u', columnsOf(schema.uploads, OF_SENDING)),
    from: 'training.uploads u join training.accounts v using (account_id)',
    year: FILE_YEAR,
    order: 'u.seen_at, u.content_id',
  },
  fit_files: ofFile(schema.fitFiles, 'fit_files', 'v.started_at'),
  fit_sessions: ofFile(schema.fitSessions, 'fit_sessions'),
  fit_laps: ofFile(schema.fitLaps, 'fit_laps'),
  fit_devices: ofFile(schema.fitDevices, 'fit_devices'),
  fit_fields: ofFile(schema.fitFields, 'fit_fields'),
  fit_records: ofFileKey(schema.fitRecords, 'fit_records', {
    month: FILE_MONTH,
    where: ' and v.records > 0',
    rows: 'sum(v.records)',
  }),
  fit_messages: ofFileKey(schema.fitMessages, 'fit_messages', { where: '', rows: 'count(*)' }),
  workouts: {
    columns: selected('w', columnsOf(schema.workouts, ['account_id', 'updated_at'])),
    from: OF_WORKOUTS,
    year: 'null::int',
    order: 'w.path, w.base_url',
  },
  workout_sets: {
    columns: selected('v', columnsOf(schema.workoutSets, ['account_id', 'resolved_at'])),
    from: 'training.workout_sets v',
    year: 'null::int',
    order: 'v.path, v.position',
  },
  // Leave out today, because the numbers of today change every second.
  form_by_day: {
    columns: ofView(
      'day:wall_clock at:instant activity_id:int32 tl_low tl_high tl_peak tl_total rl_low rl_high rl_peak rl_total form reason:text',
    ),
    from: '(select f.* from training.form_by_day f join training.today t using (account_id) where f.day < t.day) v',
    year: 'training.season_of(v.day)',
    order: 'v.day',
  },
  totals: {
    columns: ofView(
      'sport:text span:text first_day:wall_clock activities:int32 days:int32 distance moving_s elapsed_s total_elevation_gain work_kj xss',
    ),
    from: `(select * from training.totals where span <> 'season to date') v`,
    year: 'training.season_of(v.first_day)',
    order: 'v.first_day, v.span, v.sport',
  },
  routes: {
    columns: ofView(
      'route_id:int32 sport:text name:text rides:int32 first_day:wall_clock last_day:wall_clock distance ascent_m mean_s best_s:int32 best_activity_id:int32',
    ),
    from: 'training.routes v',
    year: 'null::int',
    order: 'v.route_id',
  },
  changes: {
    columns: selected('c', columnsOf(schema.changes, ['account_id', 'transaction_id'])),
    from: OF_CHANGES,
    year: yearOf('c.at'),
    order: 'c.change_id',
  },
}

const selectionOf = ({ columns }: PlainTable) =>
  columns.map((column) => makeSelection(column.from, column)).join(', ')

function printOf(table: PlainTable): Print {
  const { print, from, order } = table
  return (
    print ?? {
      text: `md5(row(${selectionOf(table)})::text)`,
      order,
      from: `${from} where true`,
      rows: 'count(*)',
    }
  )
}

/**
 * Finds the partitions to export, by table, account and time. `rows` is the number of samples; for power curves, of activities; for FIT
 * messages, of files.
 */
export async function findPartitions(tx: Tx): Promise<Partition[]> {
  const partitions: Partition[] = []
  const plain = Object.entries(PLAIN).map(
    ([name, table]) => [name, { ...table, print: printOf(table) }] as const,
  )
  for (const [table, { year, month = 'null::int', print }] of [['samples', SAMPLES] as const, ...plain]) {
    const { text, order, from, rows: counted } = print
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

/** Finds the rows of a partition. Read the pages to their end before another query in the transaction. */
export async function findContent(tx: Tx, partition: Partition) {
  const { table, accountId, year, month } = partition
  const plain = PLAIN[table]
  if (!plain) return findSamplesContent(tx, partition)
  const { columns, from, year: ofYear, month: ofMonth = 'null::int', order } = plain
  const query = `select ${selectionOf(plain)} from ${from}
                 where v.account_id = ${accountId} and ${ofYear} is not distinct from ${year}
                   and ${ofMonth} is not distinct from ${month} order by ${order}`
  return { columns, pages: findColumnPages(tx, query, columns) }
}

/**
 * Samples per query, about a row group, because the fields without a column of all these samples are in memory at the same time, 40 bytes a
 * sample.
 */
const SAMPLES_A_QUERY = 65_536

async function findSamplesContent(tx: Tx, { accountId, year, month }: Partition) {
  const { rows: found } = await tx.client.query<{ activityId: number; path: string; count: number }>(
    `select activity_id as "activityId", path, sample_count as count from training.activities v
     where account_id = $1 and ${YEAR} is not distinct from $2 and ${MONTH} is not distinct from $3 and sample_count > 0
     order by started_at, activity_id`,
    [accountId, year, month],
  )
  const pages = async function* () {
    let [batch, samples] = [[] as typeof found, 0]
    for (const activity of found) {
      if (batch.length > 0 && samples + activity.count > SAMPLES_A_QUERY) {
        yield* findSamplePages(tx, batch)
        ;[batch, samples] = [[], 0]
      }
      batch.push(activity)
      samples += activity.count
    }
    yield* findSamplePages(tx, batch)
  }
  return { columns: SAMPLE_COLUMNS, pages: pages() }
}

import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { exportAll } from '../../../src/features/export/export-all.ts'
import { OWNER_FILE } from '../../../src/kit/folders/folder-owner.ts'
import { useRig } from '../../core/mirror/rig.ts'
import { queryDuckDb } from '../../kit/duckdb.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

const HIVE = 'hive_partitioning = true, filename = true'

/** A FIT file with a row in each of its tables. */
const FIT_FILE = [
  `insert into training.uploads (account_id, content_id, file_name, size_bytes, seen_at, state, attempts)
     select account_id, 'content', 'ride.fit', 5000000000, '2025-03-04T05:06:07Z', 'mirrored', 3 from training.accounts`,
  `insert into training.fit_files (account_id, content_id, serial_number, size_bytes, parts, records, reader_version, fields, read_at)
     select account_id, 'content', 4000000001, 5000000000, 1, 2, 2, '{"a": [1]}', now() from training.accounts`,
  `insert into training.fit_laps (account_id, content_id, position, avg_power, fields)
     select account_id, 'content', 0, 200.1, '{}' from training.accounts`,
  `insert into training.fit_fields (account_id, content_id, position, developer_index, field_number, count, offsets_s, "values", fields)
     select account_id, 'content', 0, 0, 1, 2, '{1,2}', '{36.6,null}', '{}' from training.accounts`,
  `insert into training.fit_records (file_id, position, t, distance_m, power, hr, rear_gear)
     select file_id, n, '2025-03-04T05:06:07Z'::timestamptz + n * interval '1 s', 170000.12, 212, 120 + n, 19
     from training.fit_files, generate_series(1, 2) n`,
  `insert into training.fit_messages (file_id, position, record, message, fields)
     select file_id, 1, 2, 'hrv', '{"time": [0.512]}' from training.fit_files`,
]

const OF_ACTIVITY = 'join training.activities using (activity_id)'
const LISTS =
  '(select content_id, to_json(offsets_s)::text as offsets_s, to_json("values")::text as "values" from training.fit_fields) f'
/** The compared columns of each table, and their source in Postgres. */
const TABLES: ReadonlyArray<[table: string, columns: string, from: string]> = [
  ['activities', 'path, xss, sample_count, absent_since is null as listed', 'training.activities'],
  ['power_curves', 'path, duration_s, watts::float8 as watts', `training.power_curves ${OF_ACTIVITY}`],
  ['ride_measures', 'path, work_kj, moving_s, weighted_power', `training.ride_measures ${OF_ACTIVITY}`],
  ['form_by_day', 'day::timestamp as day, "at", form, reason', `training.form_by_day where "at" < now()`],
  [
    'totals',
    'sport, span, first_day::timestamp as first_day, distance',
    `training.totals where span <> 'season to date'`,
  ],
  ['routes', 'route_id, name, rides, mean_s, first_day::timestamp as first_day', 'training.routes'],
  ['training_info', 'ftp, status', 'training.training_info'],
  ['workouts', 'path, name', 'training.workouts'],
  ['workout_sets', 'path, position, power', 'training.workout_sets'],
  ['changes', 'change_id::int as id, kind, path, detail::text as detail', 'training.changes'],
  ['uploads', 'file_name, state, seen_at, size_bytes::float8 as size', 'training.uploads'],
  ['fit_files', 'serial_number::float8 as serial, fields::text as fields', 'training.fit_files'],
  ['fit_laps', 'content_id, position, avg_power', 'training.fit_laps'],
  ['fit_fields', 'content_id, offsets_s, "values"', LISTS],
  ['fit_records', 'position, t, distance_m, power, hr, rear_gear, lat', 'training.fit_records'],
  ['fit_messages', 'record, message, fields::text as fields', 'training.fit_messages'],
]

describe('an export of the whole history', () => {
  const rig = useRig({ activities: 8, longestActivitySeconds: 1_200 })
  const folder = openForAll(() => openTempDir('export'))
  let dir: string
  beforeAll(async () => {
    dir = join(folder.path, 'made', 'history')
    await rig.sync({ training: true })
    for (const statement of FIT_FILE) await rig.rows(statement)
    const umask = process.umask(0)
    try {
      expect(await run()).toMatchObject({ removed: 0, foreign: [], anew: false })
    } finally {
      process.umask(umask)
    }
  })

  const run = (to = dir) => exportAll(rig.app, { dir: to, kind: 'by_hand' })
  const read = (table: string, rest: string) =>
    queryDuckDb(
      `select ${rest.replace('FROM', `from read_parquet('${dir}/${table}/**/*.parquet', ${HIVE})`)}`,
    )
  const files = async (from = dir) => {
    const manifest = JSON.parse(await readFile(join(from, 'musette-export.json'), 'utf8'))
    return manifest.files as Record<string, { fingerprint: string; rows: number; bytes: number }>
  }
  /** Returns the files that a second export writes after a change. */
  const written = async (change: () => Promise<unknown>) => {
    const before = await places()
    await change()
    const counts = await run()
    const after = await places()
    const changed = Object.keys(after).filter((path) => after[path] !== before[path])
    expect(counts).toMatchObject({ written: changed.length, files: Object.keys(after).length })
    expect(await readdir(dir)).not.toContain('.musette-staging')
    return changed.sort()
  }
  const places = async () => {
    const paths = Object.keys(await files())
    const entries = paths.map(async (path) => [path, (await stat(join(dir, path))).ino] as const)
    return Object.fromEntries(await Promise.all(entries))
  }

  it('has every sample by account and year, with the values in Postgres', async () => {
    const sums = ['power', 'lat', 'tws'].map((field) => `sum(s.${field}::float8) as ${field}`).join(', ')
    const held = await rig.rows(
      `select a.name as account, date_part('year', v.started_at_local)::int as year, count(*)::int as samples,
              min(t) as first, max(t) as last, ${sums}
       from training.samples s join training.activities v using (activity_id) join training.accounts a using (account_id)
       group by 1, 2 order by 1, 2`,
    )
    const all = 'account, year::int as year, count(*)::int as samples, min(t) as first, max(t) as last'
    const found = await read('samples', `${all}, ${sums} FROM s group by 1, 2 order by 1, 2`)
    expect(found.map(rounded)).toEqual(held.map(rounded))
    expect(Number(held[0]?.samples)).toBeGreaterThan(500)
  })

  it.each(TABLES)('has every row of %s, with the values in Postgres', async (table, columns, from) => {
    const order = columns.split(', ').map((_, index) => index + 1)
    const rows = await rig.rows(`select ${columns} from ${from} order by ${order}`)
    expect(await read(table, `${columns} FROM where account = 'default' order by ${order}`)).toEqual(rows)
    expect(rows.length).toBeGreaterThan(0)
  })

  it('is readable by its owner only, regardless of the umask', async () => {
    const made = join(folder.path, 'made')
    // Skip the file that claims the folder: it contains nothing of the rider, and other databases read it.
    const found = (await readdir(made, { recursive: true, withFileTypes: true })).filter(
      ({ name }) => name !== OWNER_FILE,
    )
    expect(found.filter((entry) => entry.isFile()).length).toBeGreaterThan(5)
    expect((await stat(made)).mode & 0o777).toBe(0o700)
    for (const entry of found) {
      const { mode } = await stat(join(entry.parentPath, entry.name))
      expect(mode & 0o777, entry.name).toBe(entry.isFile() ? 0o600 : 0o700)
    }
  })

  it('writes only the files of changed activities', async () => {
    expect(await written(async () => undefined)).toEqual([])
    const [ride] = await rig.sql`select path, to_char(started_at_local, 'YYYY') as year,
        to_char(started_at_local, 'YYYY-MM') as month
      from training.activities where sample_count > 0 order by started_at limit 1`
    const edited = await written(async () => {
      await rig.edit(ride?.path, { name: 'New name', summary: { xss: 77 } })
      await rig.sync()
    })
    const at = (table: string, span: unknown) =>
      `${table}/account=default/year=${ride?.year}/${table}-${span}.parquet`
    const isFeed = (path: string) => path.startsWith('changes/account=default/')
    expect(edited.some(isFeed)).toBe(true)
    const tables = ['activities', 'power_curves', 'revisions', 'totals'].map((table) => at(table, ride?.year))
    expect(edited.filter((path) => !isFeed(path))).toEqual([...tables, at('samples', ride?.month)].sort())
    const revised = await read('revisions', `changes->>'$.xss[1]' as xss FROM where path = '${ride?.path}'`)
    expect(revised).toContainEqual({ xss: '77' })
  })

  it('marks an activity that is no longer listed, and keeps its samples', async () => {
    const [path = ''] = await rig.paths()
    await rig.steer('DELETE', `activities/${path}`)
    await rig.sync({ full: true })
    await run()
    const absent = `select absent_since, sample_count as samples from training.activities where path = $1`
    const held = await rig.rows(absent, [path])
    expect(held[0]?.absent_since).toBeInstanceOf(Date)
    const [exported] = await read('activities', `absent_since FROM where path = '${path}'`)
    const [samples] = await read('samples', `count(*)::int as samples FROM where path = '${path}'`)
    expect([{ ...exported, ...samples }]).toEqual(held)
  })

  it('has accounts of any name and activities without a start, samples or times', async () => {
    const names = ['a/b=%2F "ü" *', 'Twin', 'twin']
    for (const name of names) {
      await rig.sql`insert into training.accounts (name, base_url) values (${name}, 'https://service.test')`
      await rig.sql`with made as (
           insert into training.activities (account_id, path, started_at, started_at_local, listed_at, wanted_at, sample_count)
           select account_id, 'odd-' || n, '2020-05-01T10:00Z', case n when 1 then timestamp '2020-05-01 12:00' end, now(), now(),
             case n when 3 then null else 2 end
           from training.accounts, generate_series(1, 3) n where name = ${name} returning activity_id, sample_count)
         insert into training.samples (activity_id, t, power) select activity_id, case n when 2 then timestamptz '2020-05-01T10:00Z' end, n
         from made, generate_series(1, sample_count) n`
    }
    const mine = 'samples/account=default/mine.parquet'
    await writeFile(join(dir, mine), '')
    // Six files per account, including those of its changes and totals.
    const counts = { written: names.length * 6, samples: names.length * 4, foreign: [mine] }
    expect(await run()).toMatchObject(counts)
    expect(rig.log.text()).toContain('Parquet files that do not belong to the export')
    await rm(join(dir, mine))
    const rows = await read(
      'samples',
      `account, year::int as year, path, t, power FROM where path like 'odd-%' order by account, path, power`,
    )
    const t = new Date('2020-05-01T10:00:00Z')
    expect(rows).toEqual(
      [...names].sort().flatMap((account) =>
        ([2020, null] as const).flatMap((year, index) => [
          { account, year, path: `odd-${index + 1}`, t: null, power: 1 },
          { account, year, path: `odd-${index + 1}`, t, power: 2 },
        ]),
      ),
    )
    const folders = await readdir(join(dir, 'samples'))
    expect(new Set(folders.map((name) => name.toLowerCase())).size).toBe(folders.length)
    const [count] = await read('activities', `count(*)::int as activities FROM where path like 'odd-%'`)
    expect(count).toEqual({ activities: names.length * 3 })
    await rig.sql`delete from training.accounts where name <> 'default'`
    expect(await run()).toMatchObject({ written: 0, removed: 18 })
    expect(await readdir(join(dir, 'samples'))).toEqual(['account=default'])
  })

  it('has one schema in all files of a table, whatever fields the samples have', async () => {
    const sent = [
      { gear: 3, Gear: 4.25, account: 'x' },
      { gear: '53x11', year: null, extras: [1, { a: 'ü' }] },
      { 'a "b".c': 1e-7, '': true },
    ]
    for (const [month, fields] of sent.entries())
      await rig.sql`with made as (
           insert into training.activities (account_id, path, started_at, started_at_local, listed_at, wanted_at, sample_count)
           select account_id, ${`extra-${month}`}, at, at at time zone 'UTC', now(), now(), 1
           from training.accounts, make_timestamptz(2019, ${month + 1}, 1, 10, 0, 0, 'UTC') at
           returning activity_id, started_at), sample as (
           insert into training.samples (activity_id, t) select activity_id, started_at from made)
         insert into training.sample_extras (activity_id, field, "values", others)
         select activity_id, key, array[case jsonb_typeof(value) when 'number' then value::float8 end],
           case when jsonb_typeof(value) not in ('number', 'null') then jsonb_build_object('1', value) end
         from made, jsonb_each(${JSON.stringify(fields)}::jsonb)`
    // Samples of three months, and the activities and changes of a year; form has a file for each year until now. The last digit of a total
    // depends on the order of the sum.
    const paths = await written(async () => undefined)
    expect(paths.filter((path) => !/^(form_by_day|totals)\//.test(path))).toHaveLength(sent.length + 2)
    const tables = new Set(Object.keys(await files()).map((path) => path.split('/')[0] as string))
    expect(tables.size).toBeGreaterThan(7)
    const schemas = await queryDuckDb(
      `select split_part(file_name, '/account=', 1) as folder, count(distinct columns)::int as n from (
         select file_name, list((name, type, converted_type, logical_type)) as columns
         from parquet_schema('${dir}/**/*.parquet') group by file_name) group by 1 order by 1`,
    )
    expect(schemas).toEqual([...tables].sort().map((table) => ({ folder: join(dir, table), n: 1 })))
    const found = await read('samples', `extras FROM where path like 'extra-%' order by t`)
    const known = sent.map((fields) => Object.entries(fields).filter(([, value]) => value !== null))
    expect(found.map(({ extras }) => JSON.parse(String(extras)))).toEqual(known.map(Object.fromEntries))
  })

  it('is written again by another version, even after a version without checksums', async () => {
    const path = join(dir, 'musette-export.json')
    const { checked_at: _, files: known, ...rest } = JSON.parse(await readFile(path, 'utf8'))
    const older = Object.entries(known as Awaited<ReturnType<typeof files>>).map(
      ([name, { rows, bytes }]) => [name, { fingerprint: 'x', rows, bytes }],
    )
    await writeFile(path, JSON.stringify({ ...rest, files: Object.fromEntries(older) }))
    const counts = await run()
    expect(counts?.written).toBe(counts?.files)
    expect(Object.keys(await files()).sort()).toEqual(Object.keys(known).sort())
  })

  it('has an activity once after its local day moves to another year', async () => {
    const [ride] = await rig.sql`select activity_id from training.activities where sample_count > 1 limit 1`
    const [before] = await read('samples', 'count(*)::int as n FROM')
    await rig.sql`update training.activities set started_at_local = started_at_local - interval '20 years'
      where activity_id = ${ride?.activity_id}`
    await run()
    for (const table of ['activities', 'samples', 'power_curves']) {
      const where = `where activity_id = ${ride?.activity_id}`
      const found = await read(table, `count(distinct filename)::int as files FROM ${where}`)
      expect(found, table).toEqual([{ files: 1 }])
    }
    expect(await read('samples', 'count(*)::int as n FROM')).toEqual([before])
  })

  it('is written neither into a folder of other files nor over a changed manifest', async () => {
    const photos = join(folder.path, 'photos')
    await mkdir(photos)
    await writeFile(join(photos, 'summer.jpg'), 'jpg')
    const message = expect.stringContaining(photos)
    await expect(run(photos)).rejects.toMatchObject({ code: 'not_an_export', message })
    expect(await readdir(photos)).toEqual(['summer.jpg'])
    await writeFile(join(photos, 'musette-export.json'), '{"files":{"../../outside.parquet":{}}}')
    await expect(run(photos)).rejects.toMatchObject({ code: 'not_an_export' })
    const [failed] = await rig.sql`select outcome, error_code from training.sync_runs
      where resource = 'export' order by run_id desc limit 1`
    expect(failed).toEqual({ outcome: 'failed', error_code: 'not_an_export' })
  })

  it('stays unchanged if the next export is stopped, and regains a missing file', async () => {
    const stopped = AbortSignal.abort()
    await rm(join(dir, Object.keys(await files())[0] as string))
    const next = exportAll(rig.app, { dir, kind: 'schedule', signal: stopped })
    await expect(next).rejects.toBe(stopped.reason)
    expect(await readdir(dir)).not.toContain('.musette-staging')
    expect(await run()).toMatchObject({ written: 1 })
  })

  it('has each sample in order with its own fields, across row groups and queries', async () => {
    await rig.sql`with made as (
         insert into training.activities (account_id, path, started_at, started_at_local, listed_at, wanted_at, sample_count)
         select min(account_id), 'long-' || n, timestamptz '2019-01-01T10:00Z' + make_interval(days => n),
           timestamp '2019-01-01 10:00' + make_interval(days => n), now(), now(), 30000
         from training.accounts, generate_series(1, 3) n group by n returning activity_id, right(path, 1)::int as day),
       extras as (
         insert into training.sample_extras (activity_id, field, "values")
         select activity_id, 'odd', array(select day * 100000 + n from generate_series(1, 30000) n) from made where day <> 2)
       insert into training.samples (activity_id, t, power)
       select activity_id, timestamptz '2019-01-01T10:00Z' + make_interval(days => day, secs => n - 1), n
       from made, generate_series(1, 30000) n order by day, n desc`
    await run()
    const rows = await read(
      'samples',
      `right(path, 1)::int as day, count(*)::int as samples,
       count(*) filter (power - 1 = epoch(t) - epoch(timestamptz '2019-01-01 10:00:00+00') - right(path, 1)::int * 86400)::int as measured,
       count(*) filter ((extras->>'odd')::double = right(path, 1)::int * 100000 + power)::int as extras,
       count(extras)::int as known FROM where path like 'long-%' group by 1 order by 1`,
    )
    expect(rows).toEqual(
      [1, 2, 3].map((day) => {
        const known = day === 2 ? 0 : 30_000
        return { day, samples: 30_000, measured: 30_000, extras: known, known }
      }),
    )
    const [order] = await queryDuckDb(
      `select bool_and(t >= before) as sorted from (
         select t, lag(t, 1, t) over (partition by filename order by file_row_number) as before
         from read_parquet('${dir}/samples/**/*.parquet', file_row_number = true, filename = true))`,
    )
    expect(order).toEqual({ sorted: true })
  })
})

// Sums of floating-point numbers depend on their order.
function rounded(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'number' ? Number(value.toPrecision(9)) : value,
    ]),
  )
}

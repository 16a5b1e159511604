import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withExclusiveWork } from '../../../src/core/store/store.ts'
import { exportAll } from '../../../src/features/export/export-all.ts'
import { OWNER_FILE } from '../../../src/kit/folders/folder-owner.ts'
import { syncAccount } from '../../../src/program/app/sync-account.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { queryDuckDb } from '../../kit/duckdb.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'

const HIVE = 'hive_partitioning = true, filename = true'

describe('an export of the whole history', () => {
  let rig: Rig
  let folder: TempDir
  let dir: string
  beforeAll(async () => {
    rig = await openRig({ activities: 14, longestActivitySeconds: 1_800 })
    folder = await openTempDir('export')
    dir = join(folder.path, 'history')
    await syncAccount(rig.app, { name: 'default', training: true })
  })
  afterAll(async () => {
    await folder?.close()
    await rig?.close()
  })

  const run = (to = dir) => exportAll(rig.app, { dir: to, kind: 'by_hand' })
  const read = (table: string, rest: string, from = dir) =>
    queryDuckDb(
      `select ${rest.replace('FROM', `from read_parquet('${from}/${table}/**/*.parquet', ${HIVE})`)}`,
    )
  const files = async (from = dir) => {
    const manifest = JSON.parse(await readFile(join(from, 'musette-export.json'), 'utf8'))
    return manifest.files as Record<string, { fingerprint: string; rows: number; sha256: string }>
  }
  /** The files that a second export writes, and no other. */
  const written = async (change: () => Promise<unknown>) => {
    const before = await times()
    await change()
    const counts = await run()
    const after = await times()
    const changed = Object.keys(after).filter((path) => after[path] !== before[path])
    expect(counts).toMatchObject({ written: changed.length, files: Object.keys(after).length })
    expect(await readdir(dir)).not.toContain('.musette-staging')
    return changed.sort()
  }
  const times = async () => {
    const paths = Object.keys(await files())
    const entries = paths.map(async (path) => [path, (await stat(join(dir, path))).ino] as const)
    return Object.fromEntries(await Promise.all(entries))
  }

  it('has every row of activities, samples, curves and training info, by account and year, with the values of Postgres', async () => {
    const counts = await run()
    expect(counts).toMatchObject({ removed: 0, foreign: [] })
    expect(counts?.written).toBe(counts?.files)
    const sums = ['power', 'lat', 'tws'].map((field) => `sum(s.${field}::float8) as ${field}`).join(', ')
    const held = await rig.rows(
      `select a.name as account, date_part('year', v.started_at_local)::int as year, count(*)::int as samples,
              min(t) as first, max(t) as last, ${sums}
       from training.samples s join training.activities v using (activity_id) join training.accounts a using (account_id)
       group by 1, 2 order by 1, 2`,
    )
    const found = await read(
      'samples',
      `account, year::int as year, count(*)::int as samples, min(t) as first, max(t) as last, ${sums}
       FROM s group by 1, 2 order by 1, 2`,
    )
    expect(found.map(rounded)).toEqual(held.map(rounded))
    expect(Number(held[0]?.samples)).toBeGreaterThan(1_000)
    const derived: readonly string[] = ['power_curves', 'ride_measures']
    for (const [table, key] of [
      ['activities', 'xss, sample_count, absent_since is null as listed'],
      ['power_curves', 'duration_s, watts::float8 as watts'],
      ['ride_measures', 'work_kj, moving_s, weighted_power'],
      ['training_info', 'ftp, status'],
    ] as const) {
      const from = `training.${table} ${derived.includes(table) ? 'join training.activities using (activity_id)' : ''}`
      const own = table === 'training_info' ? '' : 'path, '
      const rows = await rig.rows(
        `select ${own}${key} from ${from} order by ${own}${key.replace(/ as \w+/g, '')}`,
      )
      const exported = await read(table, `${own}${key} FROM order by all`)
      expect(exported).toEqual(rows)
      expect(rows.length, table).toBeGreaterThan(0)
    }
  })

  it('is readable by its owner only, whatever the umask', async () => {
    const umask = process.umask(0)
    try {
      await run(join(folder.path, 'made', 'history'))
    } finally {
      process.umask(umask)
    }
    const made = join(folder.path, 'made')
    // The file that says whose folder it is holds nothing of the rider, and other databases read it.
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

  it('has the activities of each file of samples in order of time, with fields without a column', async () => {
    const [ride] = await rig.rows(
      `select activity_id, path, field from training.sample_extras join training.activities using (activity_id)
       where others is null and "values"[1] is not null limit 1`,
    )
    const [{ values }] = (await rig.rows(
      `select "values" from training.sample_extras where activity_id = $1 and field = $2`,
      [ride?.activity_id, ride?.field],
    )) as [{ values: number[] }]
    const rows = await read(
      'samples',
      `(extras->>'$."${ride?.field}"')::double as value FROM where path = '${ride?.path}' order by t`,
    )
    expect(rows.map(({ value }) => value)).toEqual(values)
    const orders = await queryDuckDb(
      `select replace(filename, '${dir}/', '') as path, bool_and(t >= before) as sorted, count(*)::int as rows from
         (select filename, t, lag(t, 1, t) over (partition by filename order by file_row_number) as before
          from read_parquet('${dir}/samples/**/*.parquet', file_row_number = true, filename = true))
       group by 1 order by 1`,
    )
    const held = Object.entries(await files()).filter(([path]) => path.startsWith('samples/'))
    expect(orders).toEqual(held.map(([path, { rows }]) => ({ path, sorted: true, rows })).sort(byPath))
  })

  it('writes nothing without a change, and only the files of changed activities', async () => {
    expect(await written(async () => undefined)).toEqual([])
    const [ride] = await rig.rows(
      `select path, to_char(started_at_local, 'YYYY') as year, to_char(started_at_local, 'YYYY-MM') as month
       from training.activities where sample_count > 0 order by started_at limit 1`,
    )
    const edit = async () => {
      await rig.steer('PATCH', `activities/${ride?.path}`, { name: 'New name', summary: { xss: 77 } })
      await syncAccount(rig.app, { name: 'default' })
    }
    const at = (table: string, span: unknown) =>
      `${table}/account=default/year=${ride?.year}/${table}-${span}.parquet`
    const files = await written(edit)
    const isFeed = (path: string) => path.startsWith('changes/account=default/')
    expect(files.filter(isFeed).length).toBeGreaterThan(0)
    expect(files.filter((path) => !isFeed(path))).toEqual(
      [
        ...['activities', 'power_curves', 'revisions'].map((table) => at(table, ride?.year)),
        at('samples', ride?.month),
      ].sort(),
    )
    const revised = await read('revisions', `changes->>'$.xss[1]' as xss FROM where path = '${ride?.path}'`)
    expect(revised).toContainEqual({ xss: '77' })
  })

  it('marks an activity that is no longer listed, and keeps its samples', async () => {
    const [ride] = await rig.rows('select path from training.activities order by started_at desc limit 1')
    await rig.steer('DELETE', `activities/${ride?.path}`)
    const changed = await written(() => syncAccount(rig.app, { name: 'default', full: true }))
    expect(changed.map((path) => path.split('/')[0])).toContain('activities')
    const [held] = await rig.rows('select absent_since from training.activities where path = $1', [
      ride?.path,
    ])
    expect(held?.absent_since).toBeInstanceOf(Date)
    const where = `FROM where path = '${ride?.path}'`
    expect(
      await read('activities', `epoch_ms(absent_since) = ${Number(held?.absent_since)} as same ${where}`),
    ).toEqual([{ same: true }])
    const [samples] = await read('samples', `count(*)::int as samples ${where}`)
    expect(samples?.samples).toBeGreaterThan(100)
  })

  it('writes a removed or cut file again', async () => {
    const [first, second] = Object.keys(await files()) as [string, string]
    const sums = async () =>
      new Map(Object.entries(await files()).map(([path, { sha256 }]) => [path, sha256]))
    const before = await sums()
    expect(
      await written(async () => {
        await rm(join(dir, first))
        await truncate(join(dir, second), 10)
      }),
    ).toEqual([first, second].sort())
    expect(await sums()).toEqual(before)
  })

  it('names and keeps Parquet files that are not part of the export', async () => {
    const own = join(dir, 'samples', 'account=default', 'mine.parquet')
    await writeFile(own, '')
    expect(await run()).toMatchObject({ written: 0, foreign: ['samples/account=default/mine.parquet'] })
    expect(rig.log.text()).toContain('Parquet files that are not of the export')
    await rm(own)
  })

  it('has accounts of any name, activities without a start or samples, and samples without a time', async () => {
    const names = ['a/b=%2F "ü" *', 'Twin', 'twin']
    for (const name of names) {
      await rig.rows(`insert into training.accounts (name, base_url) values ($1, 'https://service.test')`, [
        name,
      ])
      await rig.rows(
        `with made as (
           insert into training.activities (account_id, path, started_at, started_at_local, listed_at, wanted_at, sample_count)
           select account_id, 'odd-' || n, '2020-05-01T10:00Z', case n when 1 then timestamp '2020-05-01 12:00' end, now(), now(),
             case n when 3 then null else 2 end
           from training.accounts, generate_series(1, 3) n where name = $1 returning activity_id, sample_count)
         insert into training.samples (activity_id, t, power) select activity_id, case n when 2 then timestamptz '2020-05-01T10:00Z' end, n
         from made, generate_series(1, sample_count) n`,
        [name],
      )
    }
    // Five of each account, with that of its changes.
    expect(await run()).toMatchObject({ written: names.length * 5, samples: names.length * 4 })
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
  })

  it('has one schema in all files of a table, whatever fields the samples have', async () => {
    const sent = [
      { gear: 3, Gear: 4.25, account: 'x' },
      { gear: '53x11', year: null, extras: [1, { a: 'ü' }] },
      { 'a "b".c': 1e-7, '': true },
    ]
    for (const [month, fields] of sent.entries()) {
      await rig.rows(
        `with made as (
           insert into training.activities (account_id, path, started_at, started_at_local, listed_at, wanted_at, sample_count)
           select account_id, 'extra-' || $1, at, at at time zone 'UTC', now(), now(), 1
           from training.accounts, make_timestamptz(2019, $1, 1, 10, 0, 0, 'UTC') at where name = 'default'
           returning activity_id, started_at), sample as (
           insert into training.samples (activity_id, t) select activity_id, started_at from made)
         insert into training.sample_extras (activity_id, field, "values", others)
         select activity_id, key, array[case jsonb_typeof(value) when 'number' then value::float8 end],
           case when jsonb_typeof(value) not in ('number', 'null') then jsonb_build_object('1', value) end
         from made, jsonb_each($2::jsonb)`,
        [month + 1, JSON.stringify(fields)],
      )
    }
    // Samples of three months, and the activities and changes of a year.
    expect(await run()).toMatchObject({ written: sent.length + 2 })
    const tables = new Set(Object.keys(await files()).map((path) => path.split('/')[0] as string))
    expect(tables.size).toBeGreaterThan(7)
    const schemas = await queryDuckDb(
      `select split_part(file_name, '/account=', 1) as folder, count(distinct columns)::int as n from (
         select file_name, list((name, type, converted_type, logical_type)) as columns
         from parquet_schema('${dir}/**/*.parquet') group by file_name) group by 1 order by 1`,
    )
    expect(schemas).toEqual([...tables].sort().map((table) => ({ folder: join(dir, table), n: 1 })))
    const found = await queryDuckDb(
      `select extras from '${dir}/samples/**/*.parquet' where path like 'extra-%' order by t`,
    )
    const known = sent.map((fields) => Object.entries(fields).filter(([, value]) => value !== null))
    expect(found.map(({ extras }) => JSON.parse(String(extras)))).toEqual(known.map(Object.fromEntries))
    await rig.rows(`delete from training.samples s using training.activities a
      where a.activity_id = s.activity_id and a.path like 'extra-%'`)
    await rig.rows(`delete from training.activities where path like 'extra-%'`)
    expect(await run()).toMatchObject({ written: 0, removed: sent.length + 1 })
  })

  it('has FIT files with their content, workouts and the change feed, with the values of Postgres', async () => {
    await rig.rows(
      `insert into training.uploads (account_id, content_id, file_name, size_bytes, seen_at, state, activity_id, attempts)
         select account_id, 'content', 'ride.fit', 5000000000, '2025-03-04T05:06:07Z', 'mirrored', null, 3
         from training.accounts where name = 'default'`,
    )
    const whose = `select account_id, 'content' from training.accounts where name = 'default'`
    await rig.rows(
      `with file as (
         insert into training.fit_files (account_id, content_id, serial_number, size_bytes, parts, records, fields, read_at)
         ${whose.replace("'content'", `'content', 4000000001, 5000000000, 1, 2, '{"a": [1]}'::jsonb, now()`)} returning account_id),
       lap as (insert into training.fit_laps (account_id, content_id, position, avg_power, fields) select account_id, 'content', 0, 200.1, '{}' from file)
       insert into training.fit_fields (account_id, content_id, position, developer_index, field_number, count, offsets_s, "values", fields)
       select account_id, 'content', 0, 0, 1, 2, '{1,2}', '{36.6,null}', '{}' from file`,
    )
    await rig.rows(
      `with file as (update training.fit_files set reader_version = 2 where content_id = 'content' returning file_id),
       record as (insert into training.fit_records (file_id, position, t, distance_m, power, hr, rear_gear)
         select file_id, n, '2025-03-04T05:06:07Z'::timestamptz + n * interval '1 s', 170000.12, 212, 120 + n, 19 from file, generate_series(1, 2) n)
       insert into training.fit_messages (file_id, position, record, message, fields) select file_id, 1, 2, 'hrv', '{"time": [0.512]}' from file`,
    )
    await run()
    const at = '2025-03-04T05:06:07Z'
    const uploaded = { account: 'default', year: 2025, file_name: 'ride.fit', size: 5_000_000_000 }
    expect(
      await read(
        'uploads',
        'account, year::int as year, file_name, size_bytes::double as size, state, seen_at FROM',
      ),
    ).toEqual([{ ...uploaded, state: 'mirrored', seen_at: new Date(at) }])
    expect(
      await read('fit_files', `serial_number::double as serial, (fields->'$.a[0]')::int as a FROM`),
    ).toEqual([{ serial: 4_000_000_001, a: 1 }])
    expect(await read('fit_laps', 'content_id, position, avg_power FROM')).toEqual([
      { content_id: 'content', position: 0, avg_power: 200.1 },
    ])
    expect(await read('fit_fields', `offsets_s, "values" FROM`)).toEqual([
      { offsets_s: '[1,2]', values: '[36.6,null]' },
    ])
    expect(
      await read(
        'fit_records',
        'content_id, position, t, distance_m, power, hr, rear_gear, lat FROM order by position',
      ),
    ).toEqual(
      [1, 2].map((n) => ({
        ...{ content_id: 'content', position: n, t: new Date(Date.parse(at) + n * 1_000) },
        ...{ distance_m: 170_000.12, power: 212, hr: 120 + n, rear_gear: 19, lat: null },
      })),
    )
    expect(
      await read('fit_messages', `content_id, record, message, (fields->'$.time[0]')::double as s FROM`),
    ).toEqual([{ content_id: 'content', record: 2, message: 'hrv', s: 0.512 }])
    for (const [table, columns, from] of [
      ['workouts', 'path, name', 'training.workouts'],
      ['workout_sets', 'path, position, power', 'training.workout_sets'],
      ['changes', 'change_id::int as id, kind, path, detail::text as detail', 'training.changes'],
    ] as const) {
      const held = await rig.rows(
        `select ${columns} from ${from} where account_id is null or account_id = (select account_id from training.accounts where name = 'default') order by 1, 2`,
      )
      expect(held.length, table).toBeGreaterThan(5)
      const found = await read(table, `${columns} FROM where account = 'default' order by 1, 2`)
      expect(found, table).toEqual(held)
    }
  })

  it('removes the files of removed data, with their folders', async () => {
    await rig.rows(`delete from training.accounts where name <> 'default'`)
    expect(await run()).toMatchObject({ written: 0, removed: 15 })
    expect(await readdir(join(dir, 'samples'))).toEqual(['account=default'])
  })

  it('writes all files again for another version, also after one without checksums', async () => {
    const path = join(dir, 'musette-export.json')
    const { checked_at: _, files: known, ...rest } = JSON.parse(await readFile(path, 'utf8'))
    const older = Object.entries(known as Record<string, { rows: number; bytes: number }>).map(
      ([name, { rows, bytes }]) => [name, { fingerprint: 'x', rows, bytes }],
    )
    await writeFile(path, JSON.stringify({ ...rest, files: Object.fromEntries(older) }))
    const counts = await run()
    expect(counts?.written).toBe(counts?.files)
    expect(Object.keys(await files())).toEqual(Object.keys(known))
  })

  it('has an activity once when its local day moves to another year', async () => {
    const [ride] = await rig.rows(
      `select activity_id from training.activities where sample_count > 0 order by started_at limit 1`,
    )
    const [before] = await read('samples', 'count(*)::int as n FROM')
    const move = (years: number) =>
      rig.rows(
        `update training.activities set started_at_local = started_at_local + make_interval(years => $2) where activity_id = $1`,
        [ride?.activity_id, years],
      )
    for (const years of [-20, 20]) {
      await move(years)
      await run()
      for (const table of ['activities', 'samples', 'power_curves']) {
        const found = await read(
          table,
          `count(distinct filename)::int as files FROM where activity_id = ${ride?.activity_id}`,
        )
        expect(found, table).toEqual([{ files: 1 }])
      }
      expect(await read('samples', 'count(*)::int as n FROM')).toEqual([before])
    }
  })

  it('is not written into a folder of other files, nor over a changed manifest', async () => {
    const photos = join(folder.path, 'photos')
    await mkdir(photos)
    await writeFile(join(photos, 'summer.jpg'), 'jpg')
    await expect(run(photos)).rejects.toMatchObject({
      code: 'not_an_export',
      message: expect.stringContaining(photos),
    })
    expect(await readdir(photos)).toEqual(['summer.jpg'])
    await writeFile(join(photos, 'musette-export.json'), '{"files":{"../../outside.parquet":{}}}')
    await expect(run(photos)).rejects.toMatchObject({ code: 'not_an_export' })
    const [failed] = await rig.rows(
      `select outcome, error_code from training.sync_runs where resource = 'export' order by run_id desc limit 1`,
    )
    expect(failed).toEqual({ outcome: 'failed', error_code: 'not_an_export' })
  })

  it('is unchanged when the next one is stopped', async () => {
    const before = await times()
    const stopped = AbortSignal.abort()
    await rm(join(dir, Object.keys(before)[0] as string))
    const next = exportAll(rig.app, { dir, kind: 'schedule', signal: stopped })
    await expect(next).rejects.toBe(stopped.reason)
    expect(await readdir(dir)).not.toContain('.musette-staging')
    expect(await run()).toMatchObject({ written: 1 })
  })

  it('is made by one process at a time', async () => {
    const second = await withExclusiveWork(rig.app.store, 'export', () => run())
    expect(second).toBeUndefined()
    expect(await run()).toMatchObject({ written: 0 })
  })

  it('has each sample with its own fields, over several row groups and queries', async () => {
    await rig.rows(
      `with made as (
         insert into training.activities (account_id, path, started_at, started_at_local, listed_at, wanted_at, sample_count)
         select min(account_id), 'long-' || n, timestamptz '2019-01-01T10:00Z' + make_interval(days => n),
           timestamp '2019-01-01 10:00' + make_interval(days => n), now(), now(), 30000
         from training.accounts, generate_series(1, 5) n group by n returning activity_id, right(path, 1)::int as day),
       extras as (
         insert into training.sample_extras (activity_id, field, "values")
         select activity_id, 'odd', array(select day * 100000 + n from generate_series(1, 30000) n) from made where day <> 3)
       insert into training.samples (activity_id, t, power)
       select activity_id, timestamptz '2019-01-01T10:00Z' + make_interval(days => day, secs => n - 1), n
       from made, generate_series(1, 30000) n`,
    )
    await run()
    const rows = await read(
      'samples',
      `right(path, 1)::int as day, count(*)::int as samples,
       count(*) filter (power - 1 = epoch(t) - epoch(timestamptz '2019-01-01 10:00:00+00') - right(path, 1)::int * 86400)::int as measured,
       count(*) filter ((extras->>'odd')::double = right(path, 1)::int * 100000 + power)::int as extras,
       count(extras)::int as known FROM where path like 'long-%' group by 1 order by 1`,
    )
    expect(rows).toEqual(
      [1, 2, 3, 4, 5].map((day) => {
        const known = day === 3 ? 0 : 30_000
        return { day, samples: 30_000, measured: 30_000, extras: known, known }
      }),
    )
  })

  it('of an empty database has no files', async () => {
    const empty = join(folder.path, 'empty')
    await rig.rows('delete from training.accounts')
    expect(await run(empty)).toMatchObject({ files: 0, written: 0 })
    expect(await readdir(empty)).toEqual([OWNER_FILE, 'musette-export.json'])
    expect(await files(empty)).toEqual({})
  })
})

const byPath = (one: { path: string }, other: { path: string }) => (one.path < other.path ? -1 : 1)

// Sums of floating-point numbers depend on the order.
function rounded(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'number' ? Number(value.toPrecision(9)) : value,
    ]),
  )
}

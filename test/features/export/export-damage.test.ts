import { execFileSync } from 'node:child_process'
import {
  copyFile,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { findIdentity } from '../../../src/core/store/database-facts.ts'
import { checkExport, exportAll } from '../../../src/features/export/export-all.ts'
import { OWNER_FILE } from '../../../src/kit/folders/folder-owner.ts'
import { rebuildAccount } from '../../../src/program/app/rebuild-account.ts'
import { openRig } from '../../core/mirror/rig.ts'
import { queryDuckDb } from '../../kit/duckdb.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeOther } from '../../kit/identity.ts'
import { openForAll } from '../../kit/open-for.ts'
import { makeRide } from '../../kit/ride.ts'
import { sample } from '../../kit/sampling.ts'
import { canMount, fillDisk, openSmallDisk } from '../../kit/small-disk.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'

const DIE = fileURLToPath(new URL('die-while-exporting.mjs', import.meta.url))
const START = '2026-05-04T08:00:00Z'
const ORIGINALS = 'originals/account=default/year=2026'

describe('an export with FIT files and responses', () => {
  const rig = openForAll(() => openRig({ activities: 4 }))
  const folder = openForAll(() => openTempDir('export-damage'))
  let dir: string
  beforeAll(async () => {
    dir = join(folder.path, 'history')
    for (const seed of [1, 2])
      await writeFile(join(folder.path, `${seed}.fit`), makeRide({ start: START, seed }))
    expect(await musette(['upload', '1.fit', '2.fit'])).toMatchObject({ code: 0 })
    await rig.sql`update training.uploads set file_name = '../odd: name?.FIT' where file_name = '2.fit'`
    await rig.sync()
  })

  const musette = (args: readonly string[], env: Record<string, string> = {}) =>
    runVerb(args, {
      cwd: folder.path,
      env: {
        ...env,
        DATABASE_URL: rig.databaseUrl,
        MUSETTE_BASE_URL: rig.sandboxUrl,
        MUSETTE_DATA_DIR: rig.dataDir,
        MUSETTE_REQUESTS_PER_MINUTE: '100000',
        MUSETTE_KNOWN_RIDES: 'send',
      },
    })
  const check = async () => (await checkExport(rig.app, { dir, signal: new AbortController().signal })).faults
  const run = (to = dir) => exportAll(rig.app, { dir: to, kind: 'by_hand' })
  const onSchedule = () => exportAll(rig.app, { dir, kind: 'schedule' })
  const findRide = async () =>
    (
      await rig.sql`select activity_id as id, to_char(started_at_local, 'YYYY-MM') as month from training.activities
       where sample_count > 0 order by started_at limit 1`
    )[0]
  const files = async () => {
    const manifest = JSON.parse(await readFile(join(dir, 'musette-export.json'), 'utf8'))
    return manifest.files as Record<string, { fingerprint: string; rows: number }>
  }
  /** Changes a file as a bad disk does, which changes no time. */
  const rot = async (path: string) => {
    const { atime, mtime } = await stat(path)
    const bytes = await readFile(path)
    await writeFile(path, bytes.fill(0, bytes.length >> 1, (bytes.length >> 1) + 16))
    await utimes(path, atime, mtime)
  }

  it('holds the unchanged FIT files, by date and name, and responses', async () => {
    const done = await musette(['export', '--all', '--to', dir, '--originals', '--raw'])
    expect(done).toMatchObject({ code: 0 })
    const names = (await readdir(join(dir, ORIGINALS))).sort().reverse()
    expect(names).toEqual(['2026-05-04T080000Z_1.fit', '2026-05-04T080000Z_-odd- name-.fit'])
    for (const [index, name] of names.entries())
      expect(await readFile(join(dir, ORIGINALS, name))).toEqual(
        Buffer.from(makeRide({ start: START, seed: index + 1 })),
      )
    const answers = (await readdir(join(dir, 'raw'), { recursive: true })).filter((name) =>
      name.endsWith('.json.gz'),
    )
    const [held] = await rig.rows('select count(*)::int as n from training.raw_documents')
    expect(answers).toHaveLength(Number(held?.n))
    const answer = JSON.parse(gunzipSync(await readFile(join(dir, 'raw', answers[0] as string))).toString())
    expect(answer).toHaveProperty('success', true)
  })

  it('keeps FIT files and responses in scheduled exports, which write only new content', async () => {
    expect(await onSchedule()).toMatchObject({ written: 0, removed: 0 })
    await writeFile(join(folder.path, '1.fit'), makeRide({ start: START, seed: 3 }))
    expect(await musette(['upload', '1.fit'])).toMatchObject({ code: 0 })
    await onSchedule()
    const names = await readdir(join(dir, ORIGINALS))
    expect(names.filter((name) => /^2026-05-04T080000Z_1(?:_[0-9a-f]{12})?\.fit$/.test(name))).toHaveLength(2)
  })

  it('names a file with a damaged stored body, and has every other file', async () => {
    const to = join(folder.path, 'without-one')
    const damage = `update training.fit_originals set body = decode(md5(content_id), 'hex'), encoding = 'gzip'
      where content_id = (select content_id from training.uploads where file_name = '1.fit' order by content_id limit 1) returning 1`
    const held = await rig.rows('select content_id, body, encoding from training.fit_originals')
    await rig.rows(damage)
    const done = await musette(['export', '--all', '--to', to, '--originals'])
    for (const { content_id, body, encoding } of held)
      await rig.rows('update training.fit_originals set body = $2, encoding = $3 where content_id = $1', [
        content_id,
        body,
        encoding,
      ])
    const stderr = expect.stringContaining(
      '2026-05-04T080000Z_1.fit cannot be exported (incorrect header check)',
    )
    expect(done).toMatchObject({ code: 5, stderr })
    expect(await readdir(join(to, ORIGINALS))).toHaveLength(held.length - 1)
    const [ran] =
      await rig.sql`select outcome, failed from training.sync_runs where resource = 'export' order by run_id desc limit 1`
    expect(ran).toEqual({ outcome: 'partial', failed: 1 })
    expect(await exportAll(rig.app, { dir: to, kind: 'by_hand' })).toMatchObject({ written: 1, skipped: [] })
  })

  it('rewrites only the files of samples that a rebuild corrected', async () => {
    const ride = await findRide()
    const sums = 'sum(power::float8)::int as power, sum(s.lat)::int as lat, count(*)::int as n'
    const held = () => rig.rows(`select ${sums} from training.samples s where activity_id = ${ride?.id}`)
    const read = (table: string, what: string) =>
      queryDuckDb(`select ${what} from '${dir}/${table}/**/*.parquet' s where activity_id = ${ride?.id}`)
    const right = await held()
    await rig.sql`update training.samples set power = power + 100, lat = 0 where activity_id = ${ride?.id}`
    await rig.sql`update training.power_curves set watts = 1 where activity_id = ${ride?.id}`
    await rig.sql`update training.activities set summary = '{}' where activity_id = ${ride?.id}`
    await run()
    await rebuildAccount(rig.app, { name: 'default' })
    expect(await held()).toEqual(right)
    expect(await run()).toMatchObject({ written: 3 })
    expect(await read('samples', sums)).toEqual(right)
    expect(await read('power_curves', 'min(watts) > 1 as whole')).toEqual([{ whole: true }])
    expect(await read('activities', `summary <> '{}' as whole`)).toEqual([{ whole: true }])

    await rebuildAccount(rig.app, { name: 'default' })
    expect(await run()).toMatchObject({ written: 0 })
  })

  it('is checked without a write; the check names each differing file with the reason', async () => {
    const checking = () => musette(['export', '--all', '--to', dir, '--check'])
    const whole = expect.stringMatching(/: \d+ files, each as it was written/)
    expect(await checking()).toMatchObject({ code: 0, stdout: whole })
    const ride = await findRide()
    const before = await readdir(dir, { recursive: true })
    const samples = `samples/account=default/year=${String(ride?.month).slice(0, 4)}/samples-${ride?.month}.parquet`
    await rot(join(dir, samples))
    const original = `${ORIGINALS}/2026-05-04T080000Z_-odd- name-.fit`
    await rm(join(dir, original))
    await rig.sql`update training.activities set name = 'Other' where activity_id = ${ride?.id}`
    const foreign = 'power_curves/account=default/mine.parquet'
    await copyFile(join(dir, samples), join(dir, foreign))
    const faults = await check()
    for (const [path, why] of [
      [samples, 'damaged'],
      [original, 'damaged'],
      [foreign, 'foreign'],
    ])
      expect(faults).toContainEqual({ path, why })
    const stale = faults.filter(({ why }) => why === 'stale').map(({ path }) => path.split('/')[0])
    expect(stale).toEqual(expect.arrayContaining(['activities', 'changes']))
    expect(await checking()).toMatchObject({
      code: 5,
      stdout: expect.stringContaining(`${samples}: its bytes changed since the export`),
      stderr: expect.stringMatching(/files differ; run: musette export --all --to/),
    })
    expect((await readdir(dir, { recursive: true })).length).toBe(before.length)
    await rm(join(dir, foreign))
    await run()
    expect(await check()).toEqual([])
  })

  it('distinguishes two databases restored from one backup and rewritten since', async () => {
    const ride = await findRide()
    await rig.rows('create table public.versions as table musette.content_versions')
    const rewritten = async () => {
      await rig.rows(
        `update musette.content_versions c set version = v.version from public.versions v where v.activity_id = c.activity_id`,
      )
      await rig.sql`update training.samples set power = 1 where activity_id = ${ride?.id}`
      await rebuildAccount(rig.app, { name: 'default' })
      await run()
      const found = Object.entries(await files()).find(([path]) =>
        path.endsWith(`samples-${ride?.month}.parquet`),
      )
      return found?.[1].fingerprint
    }
    const first = await rewritten()
    expect(first).toBeDefined()
    expect(await rewritten()).not.toBe(first)
    await rig.rows('drop table public.versions')
  })

  it('is refused unchanged by an export or a check of another database', async () => {
    await run()
    const listed = async () => {
      const names = (await readdir(dir, { recursive: true })).sort()
      const times = names.map(async (name) => `${name} ${(await stat(join(dir, name))).mtimeMs}`)
      return await Promise.all(times)
    }
    const before = await listed()
    const first = await rig.app.store.read(findIdentity)
    const refused = { code: 'folder_of_another', message: expect.stringContaining(first.identity) }
    await makeOther(rig.databaseUrl)
    // With and without a copy of its hidden file.
    for (const _ of [1, 2]) {
      await expect(run()).rejects.toMatchObject(refused)
      await expect(check()).rejects.toMatchObject(refused)
      await rm(join(dir, OWNER_FILE), { force: true })
    }
    expect(await listed()).toEqual(before.filter((name) => !name.startsWith(OWNER_FILE)))
    await rig.rows(`update training.database set identity = '${first.identity}', line = '${first.line}'`)
    expect(await run()).toMatchObject({ written: 0 })
  })

  it('is rewritten after a restore, and refuses the old line', async () => {
    const total = (await run())?.files
    const [before] = await rig.rows('select line from training.database')
    await rig.rows(`select musette.begin_line('server')`)
    expect(await check()).toHaveLength(total ?? 0)
    expect(await run()).toMatchObject({ files: total, written: total, anew: true })
    expect(await run()).toMatchObject({ files: total, written: 0, anew: false })
    const [after] = await rig.rows('select line from training.database')
    const { database } = JSON.parse(await readFile(join(dir, 'musette-export.json'), 'utf8'))
    expect(database).toMatchObject(after ?? {})
    await rig.rows(`update training.database set line = '${before?.line}', earlier_lines = '{}'`)
    await expect(run()).rejects.toMatchObject({ code: 'folder_of_another' })
    await rig.rows(
      `update training.database set line = '${after?.line}', earlier_lines = '{${before?.line}}'`,
    )
  })

  it('notices a changed file at once by its time, else at the next full read', async () => {
    const [path = ''] = Object.keys(await files()).filter((name) => name.startsWith('samples/'))
    const file = join(dir, path)
    /** Damages the file after a full check at that time. */
    const rotSince = async (checkedAt: Date) => {
      await rot(file)
      const manifest = join(dir, 'musette-export.json')
      const known = JSON.parse(await readFile(manifest, 'utf8'))
      known.files[path].modified_ms = (await stat(file)).mtimeMs
      await writeFile(manifest, JSON.stringify({ ...known, checked_at: checkedAt.toISOString() }))
    }
    await rot(file)
    await utimes(file, new Date(), new Date())
    expect(await onSchedule()).toMatchObject({ written: 1 })
    await rotSince(new Date())
    expect(await onSchedule()).toMatchObject({ written: 0 })
    await rotSince(new Date(Date.now() - 25 * 3_600_000))
    expect(await onSchedule()).toMatchObject({ written: 1 })
    await rotSince(new Date())
    expect(await run()).toMatchObject({ written: 1 })
    const [sum] = await queryDuckDb(`select count(*)::int as n from '${file}'`)
    expect(sum).toEqual({ n: (await files())[path]?.rows })
  })

  describe('in a folder of its own', () => {
    const namesIn = async (to: string) => {
      const query = `select distinct name from '${to}/activities/**/*.parquet' order by 1`
      return (await queryDuckDb(query)).map(({ name }) => name)
    }
    const samplesIn = (to: string) =>
      queryDuckDb(`select count(*)::int as n from '${to}/samples/**/*.parquet'`)
    /** Exports with one name for each activity, then changes the name so that all files must be written again. */
    const begin = async (to: string) => {
      await rig.rows(`update training.activities set name = 'old'`)
      await run(to)
      await rig.rows(`update training.activities set name = 'new'`)
      await rig.rows('update musette.content_versions set version = gen_random_uuid()')
    }

    it.each([
      ['while files are written', 'open', /^old$/],
      ['while files are moved into place', 'rename', /^(old|new)$/],
    ])('is complete after a kill %s, and the next export finishes it', async (_, moment, left) => {
      const to = join(folder.path, moment)
      await begin(to)
      const samples = await samplesIn(to)
      const env = { NODE_OPTIONS: `--import=${DIE}`, DIE_AT: moment }
      expect(await musette(['export', '--all', '--to', to], env)).toMatchObject({ signal: 'SIGKILL' })
      expect((await namesIn(to)).filter((name) => !left.test(String(name)))).toEqual([])
      expect(await samplesIn(to)).toEqual(samples)
      // Postgres keeps the lock of a killed process until it notices the death of the process.
      await eventually(() => run(to))
      expect([await namesIn(to), await samplesIn(to)]).toEqual([['new'], samples])
      expect(await readdir(to)).not.toContain('.musette-staging')
    })

    it.each(sample(['000', '022', '077'], 1))(
      'is readable by its owner only, under umask %s',
      async (octal) => {
        const to = join(folder.path, `umask-${octal}`, 'history')
        const umask = process.umask(octal)
        try {
          await run(to)
        } finally {
          process.umask(umask)
        }
        const found = await readdir(to, { recursive: true, withFileTypes: true })
        const modes = new Map([
          [to, 0o700],
          [dirname(to), 0o700],
        ])
        for (const entry of found)
          if (entry.name !== OWNER_FILE)
            modes.set(join(entry.parentPath, entry.name), entry.isFile() ? 0o600 : 0o700)
        expect(modes.size).toBeGreaterThan(10)
        for (const [path, mode] of modes)
          expect([path, (await stat(path)).mode & 0o777]).toEqual([path, mode])
      },
    )

    it.each(sample(['activities', 'activities/account=default', '.musette-staging'], 1))(
      'writes nothing through %s if it is a link, until the command is typed',
      async (step) => {
        const to = join(folder.path, step.replaceAll('/', '-'), 'history')
        await begin(to)
        const path = join(to, step)
        const victim = `${path}.victim`
        if (step === '.musette-staging') await mkdir(victim)
        else await rename(path, victim)
        await writeFile(join(victim, 'musette-export.json'), 'of somebody else')
        const list = () => readdir(victim, { recursive: true, withFileTypes: true })
        const read = async () =>
          Promise.all(
            (await list()).map(async ({ parentPath, name }) => [
              name,
              (await lstat(join(parentPath, name))).ino,
            ]),
          )
        const before = await read()
        await symlink(victim, path)
        const error: Error = await run(to).then(
          () => expect.unreachable(),
          (error) => error,
        )
        expect(error).toMatchObject({ code: 'not_a_folder' })
        const typed = error.message.split('; run: ')[1] ?? ''
        expect(typed).toBe(`rm ${path}`)
        expect(await read()).toEqual(before)
        execFileSync('sh', ['-c', typed])
        await run(to)
        expect(await read()).toEqual(before)
        await rm(victim, { recursive: true })
        expect(await namesIn(to)).toEqual(['new'])
      },
    )

    it('removes only the staged files of a stopped export', async () => {
      const to = join(folder.path, 'staging')
      await begin(to)
      const staging = join(to, '.musette-staging')
      await mkdir(join(staging, 'samples/account=default/year=2026'), { recursive: true })
      const ours = ['samples/account=default/year=2026/samples-2026-05.parquet', '.musette-0123456789ab.tmp']
      const others = ['notes.txt', 'samples/account=default/holiday.jpg']
      for (const name of [...ours, ...others]) await writeFile(join(staging, name), 'x')
      await run(to)
      const left = await readdir(staging, { recursive: true })
      expect(left.sort()).toEqual([
        'notes.txt',
        'samples',
        'samples/account=default',
        'samples/account=default/holiday.jpg',
      ])
    })

    it.runIf(canMount())('stays complete on a full disk, and is updated once there is room', async () => {
      const first = await openSmallDisk(1)
      await fillDisk(first, 16_384)
      const nothing = {
        code: 'export_disk_full',
        message: expect.stringContaining('nothing has been exported yet'),
      }
      await expect(run(join(first, 'new'))).rejects.toMatchObject(nothing)
      const to = await openSmallDisk(64)
      await begin(to)
      const filler = await fillDisk(to, 200_000)
      await expect(run(to)).rejects.toMatchObject({ code: 'export_disk_full' })
      expect(await namesIn(to)).toEqual(['old'])
      const newest = `select outcome, error_code from training.sync_runs where resource = 'export' order by run_id desc limit 1`
      expect(await rig.rows(newest)).toEqual([{ outcome: 'failed', error_code: 'export_disk_full' }])
      await rm(filler)
      await run(to)
      expect(await namesIn(to)).toEqual(['new'])
    })
  })
})

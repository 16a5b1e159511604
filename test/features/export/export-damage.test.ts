import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findIdentity } from '../../../src/core/store/database-facts.ts'
import { checkExport, exportAll } from '../../../src/features/export/export-all.ts'
import { OWNER_FILE } from '../../../src/kit/folders/folder-owner.ts'
import { rebuildAccount } from '../../../src/program/app/rebuild-account.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { queryDuckDb } from '../../kit/duckdb.ts'
import { makeOther } from '../../kit/identity.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'

describe('an export and damage', () => {
  let rig: Rig
  let folder: TempDir
  let dir: string
  beforeAll(async () => {
    rig = await openRig({ activities: 4 })
    folder = await openTempDir('export-damage')
    dir = join(folder.path, 'history')
    await rig.sync()
    await run()
  })
  afterAll(async () => {
    await folder?.close()
    await rig?.close()
  })

  const run = () => exportAll(rig.app, { dir, kind: 'by_hand' })
  const findRide = async () =>
    (
      await rig.sql`select activity_id as id, to_char(started_at_local, 'YYYY-MM') as month from training.activities
       where sample_count > 0 order by started_at limit 1`
    )[0]
  const files = async () => {
    const manifest = JSON.parse(await readFile(join(dir, 'musette-export.json'), 'utf8'))
    return manifest.files as Record<string, { fingerprint: string; rows: number }>
  }

  it('is corrected after a rebuild of damaged samples, and not rewritten otherwise', async () => {
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

  it('of another database is refused by an export and by a check, without a change', async () => {
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
    // Whether its hidden file was copied or not.
    for (const _ of [1, 2]) {
      await expect(run()).rejects.toMatchObject(refused)
      const check = checkExport(rig.app, { dir, signal: new AbortController().signal })
      await expect(check).rejects.toMatchObject(refused)
      await rm(join(dir, OWNER_FILE), { force: true })
    }
    expect(await listed()).toEqual(before.filter((name) => !name.startsWith(OWNER_FILE)))
    await rig.rows(`update training.database set identity = '${first.identity}', line = '${first.line}'`)
    expect(await run()).toMatchObject({ written: 0 })
  })

  it('is rewritten after a restore, and the old line is refused', async () => {
    const total = (await run())?.files
    const [before] = await rig.rows('select line from training.database')
    await rig.rows(`select musette.begin_line('server')`)
    const { faults } = await checkExport(rig.app, { dir, signal: new AbortController().signal })
    expect(faults).toHaveLength(total ?? 0)
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

  it('notices a changed file, at once by its time, else when all files are read', async () => {
    const [path = ''] = Object.keys(await files()).filter((name) => name.startsWith('samples/'))
    const file = join(dir, path)
    const before = await readFile(file)
    const damage = async () => {
      const damaged = Buffer.from(before)
      for (let index = 0; index < 8; index++) damaged[200 + index] = ~(before[200 + index] ?? 0)
      await writeFile(file, damaged)
    }
    /** Damages the file as a bad disk does, which leaves its time as the manifest knows it. */
    const rot = async (checkedAt: Date) => {
      await damage()
      const manifest = join(dir, 'musette-export.json')
      const known = JSON.parse(await readFile(manifest, 'utf8'))
      known.files[path].modified_ms = (await stat(file)).mtimeMs
      await writeFile(manifest, JSON.stringify({ ...known, checked_at: checkedAt.toISOString() }))
    }
    const onSchedule = () => exportAll(rig.app, { dir, kind: 'schedule' })
    await damage()
    expect(await onSchedule()).toMatchObject({ written: 1 })
    await rot(new Date())
    expect(await onSchedule()).toMatchObject({ written: 0 })
    await rot(new Date(Date.now() - 25 * 3_600_000))
    expect(await onSchedule()).toMatchObject({ written: 1 })
    await rot(new Date())
    expect(await run()).toMatchObject({ written: 1 })
    const [sum] = await queryDuckDb(`select count(*)::int as n from '${file}'`)
    expect(sum).toEqual({ n: (await files())[path]?.rows })
  })
})

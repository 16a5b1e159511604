import { copyFile, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkExport, exportAll } from '../../../src/features/export/export-all.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { makeRide } from '../../kit/ride.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'

const START = '2026-05-04T08:00:00Z'

describe('an export with FIT files and answers', () => {
  let rig: Rig
  let folder: TempDir
  let dir: string
  const { signal } = new AbortController()
  beforeAll(async () => {
    rig = await openRig({ activities: 4 })
    folder = await openTempDir('check')
    dir = join(folder.path, 'history')
    for (const seed of [1, 2])
      await writeFile(join(folder.path, `${seed}.fit`), makeRide({ start: START, seed }))
    expect(await run('upload', '1.fit', '2.fit')).toMatchObject({ code: 0 })
    await rig.sql`update training.uploads set file_name = '../odd: name?.FIT' where file_name = '2.fit'`
    await rig.sync()
  })
  afterAll(async () => {
    await folder?.close()
    await rig?.close()
  })

  const run = (...args: string[]) =>
    runVerb(args, {
      cwd: folder.path,
      env: {
        DATABASE_URL: rig.databaseUrl,
        MUSETTE_BASE_URL: rig.sandboxUrl,
        MUSETTE_DATA_DIR: rig.dataDir,
        MUSETTE_REQUESTS_PER_MINUTE: '100000',
        MUSETTE_KNOWN_RIDES: 'send',
      },
    })
  const check = async () => (await checkExport(rig.app, { dir, signal })).faults

  it('holds the FIT files by date and name, and the answers, unchanged', async () => {
    const done = await run('export', '--all', '--to', dir, '--originals', '--raw')
    expect(done).toMatchObject({ code: 0 })
    const originals = join(dir, 'originals/account=default/year=2026')
    const names = (await readdir(originals)).sort()
    expect(names).toEqual(['2026-05-04T080000Z_1.fit', '2026-05-04T080000Z_odd%3A name%3F.fit'])
    for (const [index, name] of names.entries())
      expect(await readFile(join(originals, name))).toEqual(
        Buffer.from(makeRide({ start: START, seed: index + 1 })),
      )
    const answers = (await readdir(join(dir, 'raw'), { recursive: true })).filter((name) =>
      name.endsWith('.json.gz'),
    )
    const [held] = await rig.rows('select count(*)::int as n from training.raw_documents')
    expect(answers).toHaveLength(Number(held?.n))
    expect(answers.length).toBeGreaterThan(4)
    const answer = JSON.parse(gunzipSync(await readFile(join(dir, 'raw', answers[0] as string))).toString())
    expect(answer).toHaveProperty('success', true)
  })

  it('stays so in scheduled exports, which write only new content', async () => {
    expect(await exportAll(rig.app, { dir, kind: 'schedule' })).toMatchObject({ written: 0, removed: 0 })
    await writeFile(join(folder.path, '1.fit'), makeRide({ start: START, seed: 3 }))
    expect(await run('upload', join(folder.path, '1.fit'))).toMatchObject({ code: 0 })
    await exportAll(rig.app, { dir, kind: 'schedule' })
    const names = await readdir(join(dir, 'originals/account=default/year=2026'))
    expect(names.filter((name) => /^2026-05-04T080000Z_1(?:_[0-9a-f]{12})?\.fit$/.test(name))).toHaveLength(2)
  })

  it('is compared without writing, and each differing file is named with the reason', async () => {
    const good = await run('export', '--all', '--to', dir, '--check')
    expect(good).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/: \d+ files, each as it was written/),
    })

    const [ride] = await rig.sql`select activity_id, to_char(started_at_local, 'YYYY-MM') as month
      from training.activities where sample_count > 0 order by started_at limit 1`
    const before = await readdir(dir, { recursive: true })
    const samples = `samples/account=default/year=${String(ride?.month).slice(0, 4)}/samples-${ride?.month}.parquet`
    // As a bad disk does it, which changes no time.
    const { atime, mtime } = await stat(join(dir, samples))
    const bytes = await readFile(join(dir, samples))
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1
    await writeFile(join(dir, samples), bytes)
    await utimes(join(dir, samples), atime, mtime)
    const original = 'originals/account=default/year=2026/2026-05-04T080000Z_odd%3A name%3F.fit'
    await rm(join(dir, original))
    await rig.sql`update training.activities set name = 'Other' where activity_id = ${ride?.activity_id}`
    const foreign = 'power_curves/account=default/mine.parquet'
    const [curves = ''] = before.filter(
      (name) => name.startsWith('power_curves') && name.endsWith('.parquet'),
    )
    await copyFile(join(dir, curves), join(dir, foreign))
    const faults = await check()
    for (const [path, why] of [
      [samples, 'damaged'],
      [original, 'damaged'],
      [foreign, 'foreign'],
    ])
      expect(faults).toContainEqual({ path, why })
    const stale = faults.filter(({ why }) => why === 'stale').map(({ path }) => path.split('/')[0])
    expect(stale).toEqual(expect.arrayContaining(['activities', 'changes']))
    expect(await run('export', '--all', '--to', dir, '--check')).toMatchObject({
      code: 5,
      stdout: expect.stringContaining(`${samples}: its bytes are not those that were written`),
      stderr: expect.stringMatching(/files differ; run: musette export --all --to/),
    })
    expect((await readdir(dir, { recursive: true })).length).toBe(before.length)
    await rm(join(dir, foreign))
    await exportAll(rig.app, { dir, kind: 'by_hand' })
    expect(await check()).toEqual([])
  })

  it('is refused without an export', async () => {
    await expect(checkExport(rig.app, { dir: folder.path, signal })).rejects.toMatchObject({
      code: 'not_an_export',
    })
    const wrong = await run('export', '0f', '--originals')
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('musette export --all') })
  })
})

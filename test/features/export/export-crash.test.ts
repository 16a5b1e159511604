import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exportAll } from '../../../src/features/export/export-all.ts'
import { OWNER_FILE } from '../../../src/kit/folders/folder-owner.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { queryDuckDb } from '../../kit/duckdb.ts'
import { eventually } from '../../kit/eventually.ts'
import { distPath, runNode } from '../../kit/processes.ts'
import { sample } from '../../kit/sampling.ts'
import { canMount, fillDisk, openSmallDisk } from '../../kit/small-disk.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'

const DIE = fileURLToPath(new URL('die-while-exporting.mjs', import.meta.url))

/** A moment, and which of the two versions each file has after it: that of before the export, that of after it, or either. */
const MOMENTS = [
  { moment: 'while files are written', left: 'old' },
  { moment: 'when the files are all there', left: 'old' },
  { moment: 'while files are put in their places', left: 'either' },
  { moment: 'before the manifest is in its place', left: 'new' },
] as const

let rig: Rig
let folder: TempDir
beforeAll(async () => {
  rig = await openRig({ activities: 5 })
  folder = await openTempDir('export-crash')
  await rig.sync()
})
afterAll(async () => {
  await folder?.close()
  await rig?.close()
})

/** Exports as soon as it may: Postgres keeps the lock of a killed process until it notices that the process is gone. */
const run = (dir: string) => eventually(() => exportAll(rig.app, { dir, kind: 'by_hand' }))
const musette = (args: readonly string[], env: Record<string, string>) =>
  runNode([distPath('main.js'), ...args], {
    env: { DATABASE_URL: rig.databaseUrl, MUSETTE_DATA_DIR: rig.dataDir, ...env },
  })
/** Which names the activities have in the export, as a reader of the folder finds them. */
const namesIn = async (dir: string) => {
  const rows = await queryDuckDb(
    `select distinct name from read_parquet('${dir}/activities/**/*.parquet', hive_partitioning = true)`,
  )
  return rows.map(({ name }) => name)
}
const samplesIn = async (dir: string) =>
  (await queryDuckDb(`select count(*)::int as n from read_parquet('${dir}/samples/**/*.parquet')`))[0]?.n

describe('an export that is killed', () => {
  const dies = (dir: string, moment: string) =>
    musette(['export', '--all', '--to', dir], { NODE_OPTIONS: `--import=${DIE}`, DIE_AT: moment })

  it.each(sample(MOMENTS, 2))(
    '$moment leaves whole files, and the next export completes it',
    async ({ moment, left }) => {
      const dir = join(folder.path, 'history')
      await rig.rows(`update training.activities set name = 'old'`)
      await run(dir)
      const samples = await samplesIn(dir)
      await rig.rows(`update training.activities set name = 'new'`)
      await rig.rows('update musette.content_versions set version = gen_random_uuid()')
      expect(await dies(dir, moment)).toMatchObject({ signal: 'SIGKILL' })
      const names = await namesIn(dir)
      expect(
        names.filter((name) => (left === 'either' ? !/^(old|new)$/.test(String(name)) : name !== left)),
      ).toEqual([])
      expect(await samplesIn(dir)).toBe(samples)

      await run(dir)
      expect([await namesIn(dir), await samplesIn(dir)]).toEqual([['new'], samples])
      expect(await readdir(dir)).not.toContain('.musette-staging')
    },
  )

  it('during the first export leaves a folder that the next one accepts', async () => {
    const dir = join(folder.path, 'first')
    expect(await dies(dir, 'while files are written')).toMatchObject({ signal: 'SIGKILL' })
    expect(await readdir(dir)).toEqual([OWNER_FILE, '.musette-staging'])
    expect(await run(dir)).toMatchObject({ removed: 0 })
    expect(await readdir(dir)).not.toContain('.musette-staging')
  })
})

describe.skipIf(!canMount())('an export to a full disk', () => {
  it('says so, keeps the last one whole, and completes when there is room', async () => {
    const disk = await openSmallDisk(64)
    await run(disk)
    const manifest = () => readFile(join(disk, 'musette-export.json'), 'utf8')
    const before = await manifest()
    await rig.rows(`update training.activities set name = 'more'`)
    await rig.rows('update musette.content_versions set version = gen_random_uuid()')
    const filler = await fillDisk(disk, 200_000)
    const failing = exportAll(rig.app, { dir: disk, kind: 'by_hand' })
    await expect(failing).rejects.toMatchObject({ code: 'export_disk_full' })
    expect(await manifest()).toBe(before)
    expect(await namesIn(disk)).toEqual(['new'])
    const [failed] = await rig.rows(
      `select outcome, error_code from training.sync_runs where resource = 'export' order by run_id desc limit 1`,
    )
    expect(failed).toEqual({ outcome: 'failed', error_code: 'export_disk_full' })
    await rm(filler)
    await run(disk)
    expect(await namesIn(disk)).toEqual(['more'])
  })
})

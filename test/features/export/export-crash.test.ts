import { execFileSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exportAll } from '../../../src/features/export/export-all.ts'
import { OWNER_FILE } from '../../../src/kit/folders/folder-owner.ts'
import { syncAccount } from '../../../src/program/app/sync-account.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { queryDuckDb } from '../../kit/duckdb.ts'
import { eventually } from '../../kit/eventually.ts'
import { distPath, runNode } from '../../kit/processes.ts'
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
  rig = await openRig({ activities: 8 })
  folder = await openTempDir('export-crash')
  await syncAccount(rig.app, { name: 'default' })
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
  it.each(MOMENTS)(
    '$moment leaves whole files, and the next export completes it',
    async ({ moment, left }) => {
      const dir = join(folder.path, moment.replaceAll(' ', '-'))
      await rig.rows(`update training.activities set name = 'old'`)
      await run(dir)
      const samples = await samplesIn(dir)
      await rig.rows(`update training.activities set name = 'new'`)
      const env = { NODE_OPTIONS: `--import=${DIE}`, DIE_AT: moment }
      await rig.rows('update musette.content_versions set version = gen_random_uuid()')
      const killed = await musette(['export', '--all', '--to', dir], env)
      expect(killed).toMatchObject({ signal: 'SIGKILL' })
      const names = await namesIn(dir)
      if (left === 'either') expect(names.every((name) => name === 'old' || name === 'new')).toBe(true)
      else expect(names).toEqual([left])
      expect(await samplesIn(dir)).toBe(samples)

      await run(dir)
      expect(await namesIn(dir)).toEqual(['new'])
      expect(await samplesIn(dir)).toBe(samples)
      expect(await readdir(dir)).not.toContain('.musette-staging')
      expect(await run(dir)).toMatchObject({ written: 0 })
    },
  )

  it('during the first export leaves a folder that the next one accepts', async () => {
    const dir = join(folder.path, 'first')
    const env = {
      NODE_OPTIONS: `--import=${DIE}`,
      DIE_AT: 'while files are written',
    }
    expect(await musette(['export', '--all', '--to', dir], env)).toMatchObject({ signal: 'SIGKILL' })
    expect(await readdir(dir)).toEqual([OWNER_FILE, '.musette-staging'])
    expect(await run(dir)).toMatchObject({ removed: 0 })
    expect(await readdir(dir)).not.toContain('.musette-staging')
  })
})

// Mounting a small disk takes the rights of root, and Linux.
describe.skipIf(process.platform !== 'linux' || process.getuid?.() !== 0)('an export to a full disk', () => {
  it('says so, keeps the last one whole, and completes when there is room', async () => {
    const disk = await openTempDir('export-disk')
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', disk.path])
    try {
      await run(disk.path)
      const before = await readFile(join(disk.path, 'musette-export.json'), 'utf8')
      await rig.rows(`update training.activities set name = 'more'`)
      await rig.rows('update musette.content_versions set version = gen_random_uuid()')
      const kilobytes = Object.values(JSON.parse(before).files as Record<string, { bytes: number }>).reduce(
        (sum, { bytes }) => sum + bytes / 1_024,
        200,
      )
      execFileSync('mount', ['-o', `remount,size=${Math.ceil(kilobytes)}k`, disk.path])
      const failing = exportAll(rig.app, { dir: disk.path, kind: 'by_hand' })
      await expect(failing).rejects.toMatchObject({ code: 'export_disk_full' })
      expect(await readFile(join(disk.path, 'musette-export.json'), 'utf8')).toBe(before)
      expect(await namesIn(disk.path)).toEqual(['new'])
      const [failed] = await rig.rows(
        `select outcome, error_code, error from training.sync_runs where resource = 'export' order by run_id desc limit 1`,
      )
      expect(failed).toMatchObject({ outcome: 'failed', error_code: 'export_disk_full' })
      execFileSync('mount', ['-o', 'remount,size=64m', disk.path])
      await run(disk.path)
      expect(await namesIn(disk.path)).toEqual(['more'])
    } finally {
      execFileSync('umount', [disk.path])
      await disk.close()
    }
  })
})

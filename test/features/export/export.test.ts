import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { EXPORT_COLUMNS } from '../../../src/features/export/rows/export-rows.ts'
import { queryDuckDb } from '../../kit/duckdb.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openHold, queryOnce } from '../../kit/postgres.ts'
import { distPath } from '../../kit/processes.ts'
import { openSignedIn } from '../../program/doctor/rig.ts'

describe('musette export', () => {
  const rig = openForAll(openSignedIn)
  let path: string
  beforeAll(async () => {
    const [longest] = await queryOnce(
      rig.databaseUrl,
      'select path from training.activities order by sample_count desc nulls last limit 1',
    )
    path = String(longest?.path)
  })

  it('writes CSV to standard output by default', async () => {
    const csv = await rig.musette(['export', path])
    expect(csv).toMatchObject({ code: 0, stderr: '' })
    expect(csv.stdout.startsWith(`${EXPORT_COLUMNS.join(',')}\n`)).toBe(true)
    const json = await rig.musette(['export', path, '--format', 'json', '--account', 'default'])
    expect(json.code).toBe(0)
    expect(JSON.parse(json.stdout).samples).toHaveLength(csv.stdout.trimEnd().split('\n').length - 1)
  })

  it('exits without an error when its reader stops', async () => {
    const command = `("${process.execPath}" "${distPath('main.js')}" export ${path} --format json; echo "code $?" >&2) | head -c 9`
    const env = { PATH: process.env.PATH, ...rig.env }
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', command], { env })
    expect(stdout).toBe('{"activit')
    expect(stderr).toBe('code 0\n')
  })

  it('refuses an unknown activity, account or format with the command to type', async () => {
    const unknown = await rig.musette(['export', 'nowhere'])
    expect(unknown).toMatchObject({ code: 2, stdout: '' })
    expect(unknown.stderr).toContain('has no activity nowhere; to list the paths, run: musette sql')
    expect(await rig.musette(['export', path, '--account', 'other'])).toMatchObject({ code: 3, stdout: '' })
    const format = await rig.musette(['export', path, '--format', 'xml'])
    expect(format).toMatchObject({ code: 2, stdout: '' })
    expect(format.stderr).toContain('csv, json, parquet, fit')
  })

  it('writes the whole history into a folder, and refuses contradicting options', async () => {
    const first = await rig.musette(['export', '--all', '--format', 'parquet', '--to', 'history'])
    expect(first).toMatchObject({ code: 0, stdout: '' })
    // On a slow machine, progress lines come before it.
    expect(first.stderr).toMatch(
      /^musette: history: (\d+) of \1 files written \([\d,]+ samples, \d+\.\d MB\), 0 unchanged$/m,
    )
    const [sum] = await queryDuckDb(
      `select count(*)::int as samples from read_parquet('${rig.dataDir}/history/samples/**/*.parquet')`,
    )
    expect(first.stderr).toContain(` (${Number(sum?.samples).toLocaleString('en')} samples`)
    const second = await rig.musette(['export', '--all', '--to', 'history'])
    expect(second).toMatchObject({ code: 0, stdout: '' })
    expect(second.stderr).toMatch(/^musette: history is up to date: \d+ files$/m)
    for (const args of [
      ['export', '--all'],
      ['export', path, '--all', '--to', 'history'],
      ['export', '--all', '--to', 'history', '--format', 'csv'],
      ['export', '--all', '--to', 'history', '--account', 'default'],
      ['export', path, '--to', 'history'],
      ['export', '--all', '--tracks', 'rides', '--to', 'history'],
      ['export', '--all', '--tracks', 'rides', '--raw'],
      ['export', path, '--originals'],
    ]) {
      const refused = await rig.musette(args)
      expect(refused).toMatchObject({ code: 2, stdout: '' })
      expect(refused.stderr).toContain('musette export --all --format parquet --to DIR')
    }
  })

  it('writes an activity as a track, and all tracks into a folder', async () => {
    const gpx = await rig.musette(['export', path, '--format', 'gpx'])
    expect(gpx).toMatchObject({ code: 0, stderr: '' })
    expect(gpx.stdout).toMatch(/^<\?xml .*<gpx .*<trkpt .*<\/gpx>\n$/s)
    for (const format of [[], ['--format', 'tcx']]) {
      const all = await rig.musette(['export', '--all', '--tracks', 'rides', ...format])
      expect(all).toMatchObject({ code: 0, stdout: '' })
      expect(all.stderr).toMatch(
        /^musette: rides: \d+ of \d+ files written \(\d[\d,]+ samples, \d+\.\d MB\)/m,
      )
    }
    await queryOnce(rig.databaseUrl, `update training.activities set start_lat = null where path = '${path}'`)
    const none = await rig.musette(['export', path, '--format', 'gpx'])
    expect(none).toMatchObject({ code: 5, stdout: '' })
    const run = none.stderr.match(/; run: musette (.+)\n$/)?.[1]?.split(' ') ?? []
    expect(await rig.musette(run)).toMatchObject({ code: 0, stdout: expect.stringContaining('<Trackpoint>') })
  })

  it('exits 4 while another process exports', async () => {
    const held = await openHold(
      rig.databaseUrl,
      'lock table musette.lock_export in share update exclusive mode',
    )
    onTestFinished(() => held.close())
    const busy = await rig.musette(['export', '--all', '--to', 'history'])
    expect(busy).toMatchObject({ code: 4, stdout: '' })
    expect(busy.stderr).toContain('another process is exporting the history; wait until it has finished')
  })
})

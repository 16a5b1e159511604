import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXPORT_COLUMNS } from '../../src/store/samples/export-rows.ts'
import { queryOnce } from '../kit/postgres.ts'
import { distPath } from '../kit/processes.ts'
import { type CliRig, openCliRig } from './rig.ts'

describe('musette export', () => {
  let rig: CliRig
  let path: string
  beforeAll(async () => {
    rig = await openCliRig({ activities: 3 })
    await rig.musette(['login', '--username', 'rider', '--password-stdin'], { input: 'rider\n' })
    await rig.musette(['sync'])
    const [longest] = await queryOnce(
      rig.databaseUrl,
      'select path from training.activities order by sample_count desc nulls last limit 1',
    )
    path = String(longest?.path)
  })
  afterAll(() => rig.close())

  it('writes to standard output, CSV unless told otherwise', async () => {
    const csv = await rig.musette(['export', path])
    expect(csv).toMatchObject({ code: 0, stderr: '' })
    expect(csv.stdout.startsWith(`${EXPORT_COLUMNS.join(',')}\n`)).toBe(true)
    const json = await rig.musette(['export', path, '--format', 'json', '--account', 'default'])
    expect(json.code).toBe(0)
    expect(JSON.parse(json.stdout).samples).toHaveLength(csv.stdout.trimEnd().split('\n').length - 1)
  })

  it('ends quietly when its reader has had enough', async () => {
    const command = `("${process.execPath}" "${distPath('main.js')}" export ${path} --format json; echo "code $?" >&2) | head -c 9`
    const env = { PATH: process.env.PATH, ...rig.env }
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', command], { env })
    expect(stdout).toBe('{"activit')
    expect(stderr).toBe('code 0\n')
  })

  it('refuses an unknown activity, account or format with the exit code and the command to type', async () => {
    const unknown = await rig.musette(['export', 'nowhere'])
    expect(unknown).toMatchObject({ code: 2, stdout: '' })
    expect(unknown.stderr).toContain('has no activity nowhere; the paths are in: musette sql')
    expect(await rig.musette(['export', path, '--account', 'other'])).toMatchObject({ code: 3, stdout: '' })
    const format = await rig.musette(['export', path, '--format', 'xml'])
    expect(format).toMatchObject({ code: 2, stdout: '' })
    expect(format.stderr).toContain('csv, json, parquet')
  })

  it('ends with 5 for an activity without samples', async () => {
    const [state] = await queryOnce(
      rig.databaseUrl,
      `insert into training.activities (account_id, path, listed_at, wanted_at, detail_state)
       select account_id, 'sampleless', now(), now(), 'mirrored' from training.accounts returning detail_state`,
    )
    expect(state).toBeDefined()
    const empty = await rig.musette(['export', 'sampleless'])
    expect(empty).toMatchObject({ code: 5, stdout: '' })
    expect(empty.stderr).toBe(
      'musette: activity sampleless has no samples here: the service has none of it\n',
    )
  })
})

import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { exportHistory as runExport } from '../../../src/features/export/export-all.ts'
import { exporting } from '../../../src/features/export/feature.ts'
import { exportGauges } from '../../../src/features/export/state.ts'
import { HOUR } from '../../../src/kit/time.ts'
import { loadCatalog } from '../../../src/program/frame/feature-jobs.ts'
import { makeFacts } from '../../../src/program/frame/findings/facts.ts'
import { openRig } from '../../core/mirror/rig.ts'
import { readConfig } from '../../kit/config.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { diagnose } from '../../program/doctor/rig.ts'

describe('the daemon with a folder for the export', () => {
  let dir: string
  const folder = openForAll(() => openTempDir('exported'))
  const rig = openForAll(() => {
    dir = join(folder.path, 'history')
    const env = { MUSETTE_EXPORT_DIR: dir, MUSETTE_EXPORT_EVERY: '1h', MUSETTE_HTTP: 'off' }
    return openRig({ activities: 4, env })
  })
  beforeAll(() => rig.sync())

  const exportHistory = () => runExport(rig.app, { signal: new AbortController().signal })
  const readGauges = () => exportGauges.read(makeFacts(rig.app, new Date()))
  const diagnoseWith = (change: Record<string, string> = {}) => {
    const config = readConfig({ MUSETTE_EXPORT_DIR: dir, MUSETTE_EXPORT_EVERY: '1h', ...change })
    return diagnose('export', { ...rig.app, config })
  }

  it('exports on a schedule', async () => {
    const every = async (env: Record<string, string>) =>
      (await loadCatalog(readConfig(env), [exporting]))['export-history']?.schedule?.everyMs
    expect([await every({}), await every({ MUSETTE_EXPORT_DIR: dir, MUSETTE_EXPORT_EVERY: '1h' })]).toEqual([
      undefined,
      HOUR,
    ])
  })

  it('shows a failed export in its row, in doctor and as an error, and recovers', async () => {
    expect(await readGauges()).toEqual([{ values: { musette_export_age_seconds: null } }])
    await writeFile(dir, 'a file in the place of the folder')
    const message = expect.stringContaining(dir)
    await expect(exportHistory()).rejects.toMatchObject({ code: 'export_folder', message })
    const failed = { account_id: null, kind: 'schedule', outcome: 'failed', error_code: 'export_folder' }
    expect(
      await rig.sql`select account_id, kind, outcome, error_code from training.sync_runs where resource = 'export'`,
    ).toEqual([failed])
    expect(await diagnoseWith()).toMatchObject([
      { state: 'problem', run: 'export MUSETTE_EXPORT_DIR="$HOME/musette-export"' },
    ])
    await rm(dir)
    const { signal } = new AbortController()
    const job = exporting.jobs?.['export-history']?.run(rig.app, { signal, startedAt: new Date() } as never)
    expect(await job).toMatchObject({ counts: { removed: 0, samples: expect.any(Number) } })
    expect(await exportHistory()).toBeUndefined()
    const found = expect.stringMatching(/, exported .* ago$/)
    expect(await diagnoseWith()).toMatchObject([{ state: 'ok', found }])
    expect(await readGauges()).toEqual([{ values: { musette_export_age_seconds: expect.any(Date) } }])
  })
})

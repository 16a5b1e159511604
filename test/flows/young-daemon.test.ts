import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { findConditions } from '../../src/features/webhooks/open-webhooks.ts'
import { HOUR, MINUTE } from '../../src/kit/time.ts'
import { CORE_SOURCES } from '../../src/program/frame/findings/core-sources.ts'
import { isOpen, isSaid } from '../../src/program/frame/findings/finding.ts'
import { openRig } from '../core/mirror/rig.ts'
import { openForTest } from '../kit/open-for.ts'
import { poll, run } from '../kit/runs.ts'
import { openTempDir } from '../kit/temp-dir.ts'

const RULES = CORE_SOURCES.flatMap(({ rules }) => Object.values(rules))
const NEVER_POLLED = 'delete from training.sync_runs'

/** A mirror without faults. */
const WELL = [
  NEVER_POLLED,
  poll('1 minute'),
  run('backup', '1 minute', 'done'),
  run('backup-verify', '1 minute', 'done'),
].join(';')

it('a new daemon reports no missing polls and backups yet, nor past faults for a day', async () => {
  const folder = await openForTest(openTempDir('backups'))
  const rig = await openForTest(openRig({ activities: 0, env: { MUSETTE_BACKUP_DIR: folder.path } }))
  const [row] = await rig.rows('select line from training.database')
  const backup = `musette-20260101T000000Z-${String(row?.line).slice(0, 8)}.tar`
  await writeFile(join(folder.path, backup), 'a backup')
  const now = new Date()
  const long = { now, startedAt: new Date(now.getTime() - 3 * HOUR) }
  const young = { now, startedAt: new Date(now.getTime() - 10 * MINUTE) }
  const stateOf = async (times: typeof long) =>
    (await findConditions(rig.app, times)).map(({ state }) => state)
  await rig.rows(WELL)
  expect(await stateOf(young)).toEqual(['well', 'well'])
  await rig.rows(`${NEVER_POLLED}; ${poll('50 minutes')}; ${run('backup', '1 second', 'failed')}`)
  expect(await stateOf(young)).toEqual(['unknown', 'unknown'])
  expect(await stateOf(long)).toEqual(['wrong', 'wrong'])
  await rig.rows('update training.accounts set needs_login = true')
  expect(await stateOf(long)).toEqual(['unknown', 'wrong'])
  const at = (code: string, hours = 0) => {
    const rule = RULES.find((rule) => rule.code === code)
    if (!rule) throw new Error(`there is no rule "${code}"`)
    const state = rule.severity === 'calm' ? ('calm' as const) : ('warning' as const)
    const finding = { state, found: '', rule, since: new Date(now.getTime() - hours * HOUR) }
    return [isOpen(finding, young), isSaid(finding, young), isSaid(finding, long)]
  }
  expect(at('mirror_stale')).toEqual([true, false, true])
  expect(at('never_polled')).toEqual([true, false, false])
  expect(at('file_waits', 30)).toEqual([false, true, true])
  expect(at('file_refused', 23)).toEqual([false, true, true])
  expect(at('file_refused', 25)).toEqual([false, false, false])
})

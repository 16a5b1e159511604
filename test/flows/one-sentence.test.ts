import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeFindToday } from '../../src/features/dashboard/pages/today/queries.ts'
import { findConditions } from '../../src/features/webhooks/open-webhooks.ts'
import { HOUR, MINUTE } from '../../src/kit/time.ts'
import { makeReadiness } from '../../src/program/daemon/probes.ts'
import { findListed } from '../../src/program/doctor/check-listed.ts'
import { CORE_SOURCES } from '../../src/program/frame/findings/core-sources.ts'
import { isOpen, isSaid } from '../../src/program/frame/findings/finding.ts'
import { findStatus } from '../../src/program/frame/findings/status-report.ts'
import { openRig, type Rig } from '../core/mirror/rig.ts'
import { poll, run } from '../kit/runs.ts'
import { openTempDir, type TempDir } from '../kit/temp-dir.ts'

const RULES = CORE_SOURCES.flatMap(({ rules }) => Object.values(rules))
const NEVER_POLLED = 'delete from training.sync_runs'

let rig: Rig
let folder: TempDir
beforeAll(async () => {
  folder = await openTempDir('sentence')
  rig = await openRig({ activities: 0, env: { MUSETTE_BACKUP_DIR: folder.path } })
  const [row] = await rig.rows('select line from training.database')
  await writeFile(
    join(folder.path, `musette-20260101T000000Z-${String(row?.line).slice(0, 8)}.tar`),
    'a backup',
  )
})
afterAll(async () => {
  await rig?.close()
  await folder?.close()
})

/** A mirror in order. */
const WELL = [
  NEVER_POLLED,
  poll('1 minute'),
  run('backup', '1 minute', 'done'),
  run('backup-verify', '1 minute', 'done'),
].join(';')

it('a stale mirror is one sentence with one command to everybody that tells of it', async () => {
  const found = 'account "default" had no successful poll for 3 d (the service is away)'
  const { config, store } = rig.app
  await rig.rows(WELL)
  await rig.rows(`${NEVER_POLLED}; ${poll('3 days')}; ${poll('1 minute', 'failed')}`)
  await rig.rows(`update training.sync_runs set error = 'the service is away' where error = 'failed'`)
  const diagnosed = await findListed(
    { config, mirror: async () => ({ store, url: rig.databaseUrl }) },
    'mirror',
  )
  expect(diagnosed[0]).toMatchObject({ state: 'warning', found, run: 'musette sync' })
  const { findings } = await findStatus(rig.app)
  expect(findings).toMatchObject([
    {
      code: 'mirror_stale',
      severity: 'warning',
      account: 'default',
      found,
      run: 'musette sync',
      since: expect.any(Date),
    },
  ])
  const today = await makeFindToday(rig.app, [])({})
  expect(today?.problems).toEqual([
    { text: `${found.replace('account "default"', 'Account “default”')}. Type:`, command: 'musette sync' },
  ])
  const jobs = { counts: async () => ({ polls: {}, fetches: {} }) }
  expect(await makeReadiness({ app: rig.app, jobs }, ['worker'])()).toMatchObject({
    ready: false,
    parts: { polls: '1 of 1 accounts not polled lately; run: musette status' },
  })
})

it('a daemon that has just started says nothing of polls and backups, and of what is past for a day', async () => {
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
    const since = new Date(now.getTime() - hours * HOUR)
    const finding = {
      state: rule.severity === 'calm' ? 'calm' : 'warning',
      found: '',
      rule,
      since,
    } as const
    return [isOpen(finding, young), isSaid(finding, young), isSaid(finding, long)]
  }
  expect(at('mirror_stale')).toEqual([true, false, true])
  expect(at('never_polled')).toEqual([true, false, false])
  expect(at('file_waits', 30)).toEqual([false, true, true])
  expect(at('file_refused', 23)).toEqual([false, true, true])
  expect(at('file_refused', 25)).toEqual([false, false, false])
})

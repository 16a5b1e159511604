import { afterEach, beforeEach, expect, it } from 'vitest'
import { openApp } from '../../../src/program/app/app.ts'
import { signInWithPassword } from '../../../src/program/app/sign-in.ts'
import { syncAccount } from '../../../src/program/app/sync-account.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { readConfig } from '../../kit/config.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openRig, type Rig } from './rig.ts'
import { fetchTruth } from './truth.ts'

let rig: Rig
beforeEach(async () => {
  rig = await openRig({ activities: 5, longestActivitySeconds: 60 })
})
afterEach(() => rig.close())

it('mirrors accounts on different services side by side, each with its own history, tokens and cursor', async () => {
  const other = await startSandbox({ activities: 4, seed: 11, longestActivitySeconds: 60 })
  const env = { DATABASE_URL: rig.databaseUrl, MUSETTE_DATA_DIR: rig.dataDir, MUSETTE_BASE_URL: other.url }
  const app = await openApp(readConfig({ ...env, MUSETTE_REQUESTS_PER_MINUTE: '100000' }), makeSilentLog(), {
    features: [],
  })
  try {
    const login = { name: 'partner', username: 'rider', password: 'rider', keepPassword: false }
    await signInWithPassword(app, login)
    const [first, second] = await Promise.all([
      syncAccount(app, { name: 'default' }),
      syncAccount(app, { name: 'partner' }),
    ])
    expect([first.fetched, second.fetched, first.failed, second.failed]).toEqual([5, 4, 0, 0])
    for (const [name, url] of [
      ['default', rig.sandboxUrl],
      ['partner', other.url],
    ] as const) {
      const rows =
        await rig.sql`select v.path from training.activities v join training.accounts a using (account_id) where
        a.name = ${name}`
      const truth = await fetchTruth(url)
      expect(rows.map((row) => row.path).sort()).toEqual(truth.map((activity) => activity.path).sort())
    }
    // A service that was shown the other one's token would have answered 401, and a refresh would have followed.
    for (const url of [rig.sandboxUrl, other.url]) {
      const { tokens } = (await (await fetch(`${url}/_sandbox/counts`)).json()) as { tokens: unknown }
      expect(tokens).toEqual({ password: 1, refresh_token: 0, authorization_code: 0, rejected: 0 })
    }
    expect(await rig.sql`select count(distinct account_id)::int as n from training.sync_cursors`).toEqual([
      { n: 2 },
    ])
  } finally {
    await app.close()
    await other.close()
  }
})

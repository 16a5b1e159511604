import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { openApp } from '../../../src/program/app/app.ts'
import { signInWithPassword } from '../../../src/program/app/sign-in.ts'
import { syncAccount } from '../../../src/program/app/sync-account.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { openRig } from '../../core/mirror/rig.ts'
import { readConfig } from '../../kit/config.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { WAITING_FOR_LOCK } from '../../kit/postgres.ts'
import { steer } from '../../kit/steer.ts'

const rig = openForAll(() => openRig({ activities: 4 }))
beforeAll(() => syncAccount(rig.app, { name: 'default' }))

const LOGIN = { name: 'default', username: 'rider', password: 'rider', keepPassword: false }
const sync = (app = rig.app) => syncAccount(app, { name: 'default' })

async function openOther() {
  const other = await openForTest(startSandbox({ activities: 3, seed: 9 }))
  return other.url
}
const requestsOf = async (url: string) =>
  (await steer<{ requests: Record<string, number> }>(url, 'GET', 'counts')).requests

it('tokens are sent only to the address that issued them', async () => {
  const other = await openOther()
  await rig.rows('update training.accounts set base_url = $1', [other])
  await expect(sync()).rejects.toThrow('run: musette login')
  expect(await requestsOf(other)).toEqual({})
  await rig.rows('update training.accounts set base_url = $1', [rig.account.baseUrl])
})

it('a login keeps a password only on request, and uses it when the grant is revoked', async () => {
  await signInWithPassword(rig.app, { ...LOGIN, keepPassword: true })
  await rig.steer('POST', 'tokens/revoke')
  expect(await sync()).toMatchObject({ failed: 0 })
  await signInWithPassword(rig.app, LOGIN)
  await rig.steer('POST', 'tokens/revoke')
  await expect(sync()).rejects.toThrow('run: musette login')
})

it('a login works and refreshes if the service states an absurd token lifetime', async () => {
  const absurd = (name: string) => ({
    ...{ path: '^/oauth/token$', kind: 'status', status: 200 },
    body: { access_token: name, refresh_token: name, token_type: 'Bearer', expires_in: 999_999_999_999 },
  })
  await rig.steer('POST', 'faults', absurd('first'))
  await signInWithPassword(rig.app, LOGIN)
  await rig.steer('POST', 'faults', absurd('second'))
  await rig.rows(`update musette.credentials set obtained_at = now() - interval '30 days'`)
  expect(await rig.app.service.forAccount(rig.account).refreshTokenIfDue()).toBe('refreshed')
  const { accountId } = rig.account
  expect(await rig.app.vault.read(accountId)).toMatchObject({ refreshToken: 'second', needsLogin: false })
})

it('an account is mirrored from the beginning for another rider, and continues for the same rider', async () => {
  await signInWithPassword(rig.app, LOGIN)
  expect(await sync()).toMatchObject({ listed: 0 })
  const sibling = { username: 'sibling', password: 'sibling' }
  await rig.steer('POST', 'riders', { ...sibling, activities: 2, seed: 5 })
  await signInWithPassword(rig.app, { ...LOGIN, ...sibling, sameRider: true })
  expect(await sync()).toMatchObject({ listed: 2, fetched: 2 })
})

it('a login that fails halfway leaves the previous login unchanged', async () => {
  const other = await openOther()
  const env = { DATABASE_URL: rig.databaseUrl, MUSETTE_DATA_DIR: rig.dataDir, MUSETTE_BASE_URL: other }
  const app = await openForTest(openApp(readConfig(env), makeSilentLog(), { features: [] }))
  const signIn = () => signInWithPassword(app, { ...LOGIN, sameRider: true })
  const addresses = () => rig.rows('select base_url from training.accounts')
  const before = await addresses()
  let endRefresh: () => void = () => undefined
  const refreshing = new Promise<void>((resolve) => {
    endRefresh = resolve
  })
  onTestFinished(() => endRefresh())
  let lock: Promise<void> | undefined
  await new Promise<void>((resolve, reject) => {
    lock = rig.app.vault.locked(rig.account.accountId, () => {
      resolve()
      return refreshing
    })
    lock.catch(reject)
  })
  const failing = signIn().catch((error: unknown) => error)
  const waiter = await eventually(async () => (await rig.rows(WAITING_FOR_LOCK))[0])
  expect(await addresses()).toEqual(before)
  await rig.rows('select pg_terminate_backend($1)', [waiter.pid])
  expect(await failing).toMatchObject({ name: 'TransientError' })
  endRefresh()
  await lock
  expect(await addresses()).toEqual(before)
  expect(await sync(app)).toMatchObject({ failed: 0 })
  expect(await requestsOf(other)).toEqual({ 'POST /oauth/token': 1 })
  // Otherwise the account is mirrored from the beginning.
  expect(await signIn()).toMatchObject({ baseUrl: other })
  expect(await sync(app)).toMatchObject({ listed: 3, fetched: 3 })
})

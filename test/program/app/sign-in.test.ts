import { afterEach, beforeEach, expect, it } from 'vitest'
import { openApp } from '../../../src/program/app/app.ts'
import { signInWithPassword } from '../../../src/program/app/sign-in.ts'
import { syncAccount } from '../../../src/program/app/sync-account.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { readConfig } from '../../kit/config.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { WAITING_FOR_LOCK } from '../../kit/postgres.ts'

let rig: Rig
beforeEach(async () => {
  rig = await openRig({ activities: 4 })
  await syncAccount(rig.app, { name: 'default' })
})
afterEach(() => rig.close())

const RIDER = {
  ...{ name: 'default', username: 'rider', password: 'rider' },
  ...{ keepPassword: false, sameRider: true },
}

it('an account mirrors from the beginning when it signs in to another service', async () => {
  const other = await startSandbox({ activities: 3, seed: 9 })
  const env = { DATABASE_URL: rig.databaseUrl, MUSETTE_DATA_DIR: rig.dataDir, MUSETTE_BASE_URL: other.url }
  const app = await openApp(readConfig(env), makeSilentLog(), { features: [] })
  try {
    expect(await signInWithPassword(app, RIDER)).toMatchObject({ baseUrl: other.url })
    expect(await syncAccount(app, { name: 'default' })).toMatchObject({ listed: 3, fetched: 3 })
  } finally {
    await app.close()
    await other.close()
  }
})

it('a login that fails half way leaves the previous one unchanged', async () => {
  const other = await startSandbox({ activities: 3, seed: 9 })
  const env = { DATABASE_URL: rig.databaseUrl, MUSETTE_DATA_DIR: rig.dataDir, MUSETTE_BASE_URL: other.url }
  const app = await openApp(readConfig(env), makeSilentLog(), { features: [] })
  const before = await rig.rows('select base_url from training.accounts')
  let endRefresh: () => void = () => undefined
  const refreshing = new Promise<void>((resolve) => {
    endRefresh = resolve
  })
  try {
    let lock: Promise<void> | undefined
    await new Promise<void>((resolve, reject) => {
      lock = rig.app.vault.locked(rig.account.accountId, () => {
        resolve()
        return refreshing
      })
      lock.catch(reject)
    })
    const signIn = signInWithPassword(app, RIDER).catch((error: unknown) => error)
    const waiter = await eventually(async () => (await rig.rows(WAITING_FOR_LOCK))[0])
    expect(await rig.rows('select base_url from training.accounts')).toEqual(before)
    await rig.rows('select pg_terminate_backend($1)', [waiter.pid])
    expect(await signIn).toMatchObject({ name: 'TransientError' })
    endRefresh()
    await lock
    expect(await rig.rows('select base_url from training.accounts')).toEqual(before)
    expect(await syncAccount(app, { name: 'default' })).toMatchObject({ failed: 0 })
    expect(await requestsOf(other.url)).toEqual({ 'POST /oauth/token': 1 })
  } finally {
    endRefresh()
    await app.close()
    await other.close()
  }
})

it('no tokens are sent to an address that did not issue them', async () => {
  const other = await startSandbox({ activities: 3, seed: 9 })
  try {
    await rig.rows('update training.accounts set base_url = $1', [other.url])
    await expect(syncAccount(rig.app, { name: 'default' })).rejects.toThrow('run: musette login')
    expect(await requestsOf(other.url)).toEqual({})
  } finally {
    await other.close()
  }
})

it('an account is mirrored from the beginning when another rider signs in on purpose, and continues for the same one', async () => {
  const login = { name: 'default', username: 'rider', password: 'rider', keepPassword: false }
  await signInWithPassword(rig.app, login)
  expect(await syncAccount(rig.app, { name: 'default' })).toMatchObject({ listed: 0 })
  await rig.steer('POST', 'riders', { username: 'sibling', password: 'sibling', activities: 2, seed: 5 })
  await signInWithPassword(rig.app, { ...login, username: 'sibling', password: 'sibling', sameRider: true })
  expect(await syncAccount(rig.app, { name: 'default' })).toMatchObject({ listed: 2, fetched: 2 })
})

it('a login keeps a password only on request, and then uses it when the grant is revoked', async () => {
  const login = { name: 'default', username: 'rider', password: 'rider' }
  await signInWithPassword(rig.app, { ...login, keepPassword: true })
  await rig.steer('POST', 'tokens/revoke')
  expect(await syncAccount(rig.app, { name: 'default' })).toMatchObject({ failed: 0 })
  await signInWithPassword(rig.app, { ...login, keepPassword: false })
  await rig.steer('POST', 'tokens/revoke')
  await expect(syncAccount(rig.app, { name: 'default' })).rejects.toThrow('run: musette login')
})

it('a login works and refreshes at a service that states an absurd lifetime', async () => {
  const absurd = (name: string) => ({
    path: '^/oauth/token$',
    kind: 'status',
    status: 200,
    body: { access_token: name, refresh_token: name, token_type: 'Bearer', expires_in: 999_999_999_999 },
  })
  const login = { name: 'default', username: 'rider', password: 'rider', keepPassword: false }
  await rig.steer('POST', 'faults', absurd('first'))
  await signInWithPassword(rig.app, login)
  await rig.steer('POST', 'faults', absurd('second'))
  await rig.rows(`update musette.credentials set obtained_at = now() - interval '30 days'`)
  expect(await rig.app.service.forAccount(rig.account).refreshTokenIfDue()).toBe('refreshed')
  const { accountId } = rig.account
  expect(await rig.app.vault.read(accountId)).toMatchObject({ refreshToken: 'second', needsLogin: false })
})

async function requestsOf(sandboxUrl: string): Promise<Record<string, number>> {
  const counts = (await (await fetch(`${sandboxUrl}/_sandbox/counts`)).json()) as {
    requests: Record<string, number>
  }
  return counts.requests
}

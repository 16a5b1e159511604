import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { pollActivities } from '../../../src/core/mirror/poll-activities.ts'
import { mirrorTrainingInfo } from '../../../src/core/mirror/poll-training-info.ts'
import { mirrorWorkouts } from '../../../src/core/mirror/poll-workouts.ts'
import { reconcileActivities } from '../../../src/core/mirror/reconcile-activities.ts'
import { beginBrowserLogin, signInWithPassword } from '../../../src/program/app/sign-in.ts'
import { syncAccount, verifyAccount } from '../../../src/program/app/sync-account.ts'
import { exitFor } from '../../../src/program/frame/context.ts'
import { findStatus } from '../../../src/program/frame/findings/status-report.ts'
import { openRig } from '../../core/mirror/rig.ts'
import { openForAll } from '../../kit/open-for.ts'
import { approve } from './approve.ts'

/** An account of a rider; each test except the last ones leaves it signed in. */
const rig = openForAll(() => openRig({ activities: 3 }))
beforeAll(() => syncAccount(rig.app, { name: 'default', training: true }))

const RIDER = { name: 'default', username: 'rider', password: 'rider', keepPassword: false }
const SECOND = { ...RIDER, username: 'second', password: 'second' }
const REFUSED = { name: 'CredentialsRejectedError', code: 'other_rider' }

/** What the account has of a rider, and its tokens. */
const HELD = `select (select array_agg(path order by path) from training.activities) as paths,
  (select array_agg(absent_since) from training.activities) as absent, (select count(*) from training.training_info) as info,
  (select count(*) from training.workouts where account_id is not null) as workouts,
  (select count(*) from training.raw_documents) as documents`
const held = async () => (await rig.rows(HELD))[0]
const tokens = async () => (await rig.rows('select access_token, obtained_at from musette.credentials'))[0]

/** Stores tokens of a user without comparing the login, as a person can do by hand. */
async function putInPlace(username: string): Promise<void> {
  const { config, service, vault } = rig.app
  const { clientId, clientSecret } = config.service
  const { baseUrl } = rig.account
  const client = { baseUrl, clientId, clientSecret }
  const pair = await service.requestLogin(client, { type: 'password', username, password: username })
  await vault.saveLogin({ name: 'default', baseUrl }, { clientId, clientSecret, pair })
}

/** Makes the service list no activities, which a login is compared by. */
const planNoList = () =>
  rig.steer('POST', 'faults', { path: '^/oauth/activity$', kind: 'status', status: 500, times: 'always' })

const statusOf = async () => (await findStatus(rig.app)).accounts.find(({ account }) => account === 'default')
const DONE = { absent: 0, failed: 0 }
const sync = (full = false) => syncAccount(rig.app, { name: 'default', full })

describe('another rider', () => {
  it('is refused at a login, with the commands to type', async () => {
    const before = [await held(), await tokens()]
    const error = await signInWithPassword(rig.app, SECOND).catch((reason: unknown) => reason)
    expect(error).toMatchObject(REFUSED)
    expect(exitFor(error)).toMatchObject({ code: 2 })
    expect(exitFor(error).sentence).toMatch(/run: musette login NAME --username …, with a new NAME/)
    expect(exitFor(error).sentence).toMatch(/musette login, and with --same-rider/)
    await expect(signInInBrowser('second')).rejects.toMatchObject(REFUSED)
    expect([await held(), await tokens()]).toEqual(before)
    await signInInBrowser('rider')
    expect(await sync(true)).toMatchObject(DONE)
    await signInWithPassword(rig.app, { ...SECOND, name: 'other' })
    expect(await syncAccount(rig.app, { name: 'other' })).toMatchObject({ listed: 3 })
  })

  it('is detected at the first pass if the service was down at the login', async () => {
    await planNoList()
    await signInWithPassword(rig.app, SECOND)
    const before = await held()
    await expect(sync()).rejects.toMatchObject({ code: 'rider_pending' })
    expect(await statusOf()).toMatchObject({ needs_login: false })
    await rig.steer('DELETE', 'faults')
    await expect(sync()).rejects.toMatchObject(REFUSED)
    expect(await held()).toEqual(before)
    await signInWithPassword(rig.app, RIDER)
  })

  it('writes nothing with tokens put into the database until the right rider signs in', async () => {
    await putInPlace('second')
    const before = await held()
    const { app, account } = rig
    const { mirror } = app
    const file = { fileName: 'a.fit', bytes: randomBytes(2_000) }
    const verify = { name: 'default', choice: { all: true }, repair: true, onEnd: () => undefined } as const
    const works = {
      'a pass': () => syncAccount(app, { name: 'default', full: true, training: true }),
      'a poll': () => pollActivities(mirror, { account }),
      'a reconcile': () => reconcileActivities(mirror, { account }),
      'training info': () => mirrorTrainingInfo(mirror, { account }),
      workouts: () => mirrorWorkouts(mirror, { account }),
      'an upload': () => app.service.forAccount(account).uploadFit(file),
      'a comparison': () => verifyAccount(app, verify),
    }
    for (const [what, work] of Object.entries(works)) {
      await expect(work(), what).rejects.toMatchObject(REFUSED)
      expect(await held(), what).toEqual(before)
    }
    const counts = await rig.steer<{ uploads: { accepted: number } }>('GET', 'counts')
    expect(counts.uploads.accepted).toBe(0)
    expect(await statusOf()).toMatchObject({
      ...{ login_code: 'other_rider', needs_login: true, next_command: 'musette login' },
      last_error: expect.stringContaining('--same-rider'),
    })
    for (const signIn of [() => signInWithPassword(app, RIDER), () => putInPlace('rider')]) {
      await putInPlace('second')
      await expect(works['a poll']()).rejects.toMatchObject(REFUSED)
      await signIn()
      expect(await sync(true)).toMatchObject(DONE)
      expect(await statusOf()).toMatchObject({ login_code: null, needs_login: false })
    }
  })
})

describe('the same rider', () => {
  it('is recognized by an activity if the name is unknown, and continues', async () => {
    await signInWithPassword(rig.app, RIDER)
    for (const change of [
      `update musette.riders set name_hash = 'x'`,
      'update musette.riders set name_hash = null',
      `update musette.riders set key_id = '00000000'`,
      'delete from musette.riders',
    ]) {
      await rig.rows(change)
      await signInWithPassword(rig.app, RIDER)
      expect(await sync(), change).toMatchObject({ listed: 0, failed: 0 })
    }
  })

  it('leaves no plain user name, and a different hash in each account', async () => {
    await signInWithPassword(rig.app, { ...RIDER, name: 'again' })
    const rows = await rig.rows(
      'select username, name_hash from musette.riders r join musette.credentials using (account_id)',
    )
    expect(rows.map(({ username }) => username)).toEqual(rows.map(() => null))
    expect(rows.length).toBeGreaterThan(1)
    expect(new Set(rows.map(({ name_hash }) => String(name_hash))).size).toBe(rows.length)
    // No user name of a rider who cannot be compared either.
    await planNoList()
    await rig.rows('update musette.riders set name_hash = null')
    await signInWithPassword(rig.app, RIDER)
    expect(await rig.rows('select from musette.credentials where username is not null')).toEqual([])
    await rig.steer('DELETE', 'faults')
    await rig.rows(`update musette.credentials set username = 'rider'`)
    await rig.rows('delete from musette.riders')
    await sync()
    const first = 'select username from musette.credentials order by account_id limit 1'
    expect(await rig.rows(first)).toEqual([{ username: null }])
  })
})

describe('an account without activities', () => {
  const empty = (table: string) =>
    rig.rows(`delete from training.${table} where account_id = $1 returning 1`, [rig.account.accountId])

  it('refuses only another name once it has a rider’s data; a login without a name clears the last name', async () => {
    await signInWithPassword(rig.app, RIDER)
    await empty('activities')
    await expect(signInWithPassword(rig.app, SECOND)).rejects.toMatchObject(REFUSED)
    await empty('training_info')
    await signInWithPassword(rig.app, SECOND)
    expect(await sync()).toMatchObject({ listed: 3, failed: 0 })
    await empty('activities')
    await signInInBrowser('rider')
    expect(await sync()).toMatchObject({ listed: 3, failed: 0 })
    await expect(signInWithPassword(rig.app, SECOND)).rejects.toMatchObject(REFUSED)
  })
})

async function signInInBrowser(username: string): Promise<unknown> {
  const redirectUri = 'http://127.0.0.1:8976/callback'
  const client = { clientId: 'demo_app', clientSecret: 'demo_secret' }
  const login = await beginBrowserLogin(rig.app, { name: 'default', client, redirectUri })
  const { searchParams } = new URL(await approve(login.authorizeUrl, username))
  return login.finish({ code: searchParams.get('code') ?? '', state: login.state })
}

import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeSpoolText } from '../../core/vault/vault.ts'
import { findSpoolName } from '../../kit/identity.ts'
import { queryOnce } from '../../kit/postgres.ts'
import type { CliRig } from '../cli/rig.ts'
import { doctor, openSignedIn, typeVerb } from './rig.ts'

let rig: CliRig
beforeAll(async () => {
  rig = await openSignedIn()
})
afterAll(() => rig.close())

describe('a login', () => {
  const setLogin = (columns: string) =>
    queryOnce(rig.databaseUrl, `update musette.credentials set ${columns}`)

  it('of a rider with two is reported with the command that ends one', async () => {
    const login = ['login', 'again', '--username', 'rider', '--password-stdin']
    expect(await rig.musette(login, { input: 'rider' })).toMatchObject({ code: 0 })
    const shared = async () =>
      (await doctor(rig)).of('mirror').filter(({ found }) => found.includes('activities in common'))
    expect(await shared()).toEqual([])
    await queryOnce(
      rig.databaseUrl,
      `insert into training.activities (account_id, path, detail_state, listed_at, wanted_at)
       select account_id, 'both', 'mirrored', now(), now() from training.accounts returning 1`,
    )
    const told = await shared()
    expect(told).toMatchObject([
      { state: 'warning', found: expect.stringContaining('"default" and "again"') },
    ])
    expect(await typeVerb('musette logout', told[0]?.run, { env: rig.env })).toMatchObject({ code: 0 })
    expect(await shared()).toEqual([])
    await queryOnce(rig.databaseUrl, `delete from training.accounts where name = 'again'`)
    await queryOnce(rig.databaseUrl, `delete from training.activities where path = 'both'`)
  })

  it('that is refused or has ended is in doctor and status with the command', async () => {
    await setLogin(`refused_since = now() - interval '50 minutes'`)
    expect((await doctor(rig)).of('login')[0]?.state).toBe('ok')
    await setLogin(`refused_since = now() - interval '3 hours'`)
    const refused = (await doctor(rig)).of('login')[0]
    expect(refused).toMatchObject({ state: 'warning', run: 'musette sync' })
    expect(refused?.found).toContain('tokens that the service refuses, for 3 h')
    const status = await rig.musette(['status', '--json'])
    expect(JSON.parse(status.stdout).accounts[0]).toMatchObject({
      login_code: 'token_refused',
      next_command: 'musette sync',
    })
    await setLogin('refused_since = null')
    await queryOnce(rig.databaseUrl, `update training.accounts set needs_login = true`)
    const parked = await doctor(rig)
    expect(parked.code).toBe(3)
    expect(parked.of('login')[0]).toMatchObject({
      state: 'problem',
      found: 'account "default" needs a login; nothing new is mirrored until then',
      run: 'musette login',
    })
    await queryOnce(rig.databaseUrl, 'update training.accounts set needs_login = false')
    expect((await doctor(rig)).code).toBe(0)
  })

  it('with newer tokens in a spool file, also a damaged one, is reported', async () => {
    const [row] = await queryOnce(rig.databaseUrl, 'select * from musette.credentials')
    const spool = join(rig.dataDir, await findSpoolName(rig.databaseUrl, row?.account_id))
    const later = new Date(Number(row?.obtained_at) + 1_000)
    await writeFile(spool, makeSpoolText(row, { obtainedAt: later }), { mode: 0o600 })
    const waiting = await doctor(rig)
    expect(waiting.code).toBe(0)
    expect(waiting.of('login')[1]).toMatchObject({ state: 'warning', run: 'musette sync' })
    await writeFile(spool, '{')
    const damaged = await doctor(rig)
    expect(damaged.code).toBe(2)
    expect(damaged.of('login')[1]).toMatchObject({ state: 'problem', run: 'musette login' })
    await rename(spool, `${spool}.damaged`)
  })
})

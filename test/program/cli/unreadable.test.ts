import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findSpoolName } from '../../kit/identity.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { type CliRig, openCliRig } from './rig.ts'

let rig: CliRig
beforeAll(async () => {
  rig = await openCliRig({ activities: 1 })
  for (const account of ['default', 'anna', 'ben']) {
    const login = ['login', account, '--username', 'rider', '--password-stdin']
    await rig.musette(login, { input: 'rider' })
  }
})
afterAll(() => rig.close())

/** Bends the tokens of one account in the database, and the spool file of another. */
async function damage(): Promise<void> {
  const ids = await queryOnce(rig.databaseUrl, 'select account_id as id from training.accounts order by 1')
  await writeFile(join(rig.dataDir, await findSpoolName(rig.databaseUrl, ids[1]?.id)), 'nonsense', {
    mode: 0o600,
  })
  await queryOnce(
    rig.databaseUrl,
    `update musette.credentials set access_token = set_byte(access_token, 30, 1 # get_byte(access_token, 30))
     where account_id = $1`,
    [ids[2]?.id],
  )
}

it('doctor and accounts name accounts whose tokens cannot be read', async () => {
  await damage()
  const doctor = await rig.musette(['doctor', '--json'])
  const findings: Array<{ state: string; found: string; run: string }> = JSON.parse(doctor.stdout).findings
  const problems = findings.filter(({ state }) => state === 'problem')
  expect(problems).toEqual([
    expect.objectContaining({ found: expect.stringContaining('"ben"'), run: 'musette login ben' }),
    expect.objectContaining({ found: expect.stringContaining('"anna"'), run: 'musette login anna' }),
  ])
  const accounts = await rig.musette(['accounts', '--json'])
  expect(accounts.code).toBe(0)
  expect(JSON.parse(accounts.stdout)).toMatchObject([
    { account: 'default', needs_login: false, last_error: null },
    { account: 'anna', needs_login: true, last_error: expect.stringContaining('run: musette login anna') },
    { account: 'ben', needs_login: true, last_error: expect.stringContaining('run: musette login ben') },
  ])
})

it('sync names accounts whose tokens cannot be read, and continues with others', async () => {
  expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
  const shut = await rig.musette(['sync', 'anna'])
  expect(shut.code).toBe(2)
  expect(shut.stderr).toContain('run: musette login anna')
  expect((await rig.musette(['status'])).stdout).toContain('run: musette login anna')
})

it('a rotation names accounts whose tokens cannot be read, and a login repairs them', async () => {
  const rotated = await rig.musette(['key', 'rotate'])
  expect(rotated.code).toBe(5)
  expect(rotated.stdout).toContain('2 logins are sealed with a new key')
  expect(rotated.stderr).toContain('run: musette login ben')
  for (const account of ['anna', 'ben']) {
    const login = ['login', account, '--username', 'rider', '--password-stdin']
    expect(await rig.musette(login, { input: 'rider' })).toMatchObject({ code: 0 })
  }
  expect(await rig.musette(['sync', 'ben'])).toMatchObject({ code: 0 })
})

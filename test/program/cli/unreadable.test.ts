import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { findSpoolName } from '../../kit/identity.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openCliRig } from './rig.ts'

const rig = openForAll(() => openCliRig({ activities: 1 }))

/** The tokens of one account are damaged in the database; those of the other in the spool file. */
beforeAll(async () => {
  for (const account of ['default', 'anna', 'ben']) await rig.signIn(account)
  const ids = await rig.rows('select account_id as id from training.accounts order by 1')
  const spool = join(rig.dataDir, await findSpoolName(rig.databaseUrl, ids[1]?.id))
  await writeFile(spool, 'nonsense', { mode: 0o600 })
  const bent = 'set_byte(access_token, 30, 1 # get_byte(access_token, 30))'
  const text = `update musette.credentials set access_token = ${bent} where account_id = $1`
  await rig.rows(text, [ids[2]?.id])
})

it('doctor, accounts, status and sync name accounts with unreadable tokens, and others continue', async () => {
  const doctor = await rig.musette(['doctor', '--json'])
  const { findings } = JSON.parse(doctor.stdout) as { findings: Array<{ state: string }> }
  expect(findings.filter(({ state }) => state === 'problem')).toEqual([
    expect.objectContaining({ found: expect.stringContaining('"ben"'), run: 'musette login ben' }),
    expect.objectContaining({ found: expect.stringContaining('"anna"'), run: 'musette login anna' }),
  ])
  const accounts = await rig.musette(['accounts', '--json'])
  expect(JSON.parse(accounts.stdout)).toMatchObject([
    { account: 'default', needs_login: false, last_error: null },
    { account: 'anna', needs_login: true, last_error: expect.stringContaining('run: musette login anna') },
    { account: 'ben', needs_login: true, last_error: expect.stringContaining('run: musette login ben') },
  ])
  expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
  const shut = { code: 2, stderr: expect.stringContaining('run: musette login anna') }
  expect(await rig.musette(['sync', 'anna'])).toMatchObject(shut)
  expect((await rig.musette(['status'])).stdout).toContain('run: musette login anna')
})

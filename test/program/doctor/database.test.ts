import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { serverFindings } from '../../../src/program/doctor/check-database.ts'
import { queryOnce } from '../../kit/postgres.ts'
import type { CliRig } from '../cli/rig.ts'
import { doctor, openDamagedCopy, openSignedIn, type, typeVerb } from './rig.ts'

let rig: CliRig
beforeAll(async () => {
  rig = await openSignedIn()
})
afterAll(() => rig.close())

it('damaged samples are restored from the stored answers, without the service', async () => {
  const env = {
    DATABASE_URL: await openDamagedCopy(rig.databaseUrl, 'training.samples'),
    MUSETTE_BASE_URL: 'http://127.0.0.1:9',
  }
  const count = (url: string) => queryOnce(url, 'select count(*) from training.samples')
  await expect(count(env.DATABASE_URL)).rejects.toMatchObject({ code: 'XX001' })
  await queryOnce(env.DATABASE_URL, 'truncate training.samples')
  expect(await rig.musette(['rebuild'], { env })).toMatchObject({ code: 0 })
  expect(await count(env.DATABASE_URL)).toEqual(await count(rig.databaseUrl))
  const [, damage] = (await doctor(rig, env)).of('database')
  expect(damage).toMatchObject({
    state: 'warning',
    found: expect.stringContaining('every table could be read just now'),
  })
})

describe('a database that takes no writes by its settings', () => {
  it('is found by a write, and the named command repairs it', async () => {
    const role = `owner_${process.pid}`
    const name = new URL(rig.databaseUrl).pathname.slice(1)
    const run = (text: string) => queryOnce(rig.databaseUrl, text)
    await run(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'owner'`)
    const postgres = new URL(rig.databaseUrl)
    postgres.pathname = '/postgres'
    onTestFinished(async () => {
      await queryOnce(
        postgres.href,
        `ALTER DATABASE ${name} RESET default_transaction_read_only; DROP ROLE ${role}`,
      )
    })
    await run(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    const url = new URL(rig.databaseUrl)
    url.username = role
    url.password = 'owner'
    const env = { DATABASE_URL: url.href }
    const [found] = (await doctor(rig, env)).of('database')
    expect(found).toMatchObject({
      state: 'problem',
      found: expect.stringContaining('the database accepts no writes at the moment'),
    })
    expect(await typeVerb('musette sql', found?.run, { env })).toMatchObject({ code: 0 })
    expect((await doctor(rig, env)).of('database')).toMatchObject([{ state: 'ok' }])
  })
})

it('a server that does not clean up gets a working command', async () => {
  const facts = { version: '18.1', version_number: 180_001, connections: 99, connections_of_others: 0 }
  const rest = {
    size_bytes: 1,
    is_superuser: true,
    limits: [],
    read_only_by: null,
    creators_in_public: [],
    checksum_failures: 0,
    checksum_last_failure: null,
  }
  const [found] = serverFindings({ ...facts, ...rest, autovacuum: false }, 1)
  await type('musette sql', found?.run, { env: rig.env })
  const [plain] = serverFindings({ ...facts, ...rest, is_superuser: false, autovacuum: false }, 1)
  expect(plain).not.toHaveProperty('run')
  expect(plain?.found).toContain('type: alter system set autovacuum = on; select pg_reload_conf()')
})

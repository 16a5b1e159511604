import { describe, expect, it, onTestFinished } from 'vitest'
import { openForAll } from '../../kit/open-for.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { doctor, openDamagedCopy, openSignedIn, typeVerb } from './rig.ts'

const rig = openForAll(() => openSignedIn())

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
    const postgres = Object.assign(new URL(rig.databaseUrl), { pathname: '/postgres' }).href
    await queryOnce(postgres, `CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'owner'`)
    const reset = `ALTER DATABASE ${name} RESET default_transaction_read_only; DROP ROLE ${role}`
    onTestFinished(async () => void (await queryOnce(postgres, reset)))
    await queryOnce(postgres, `ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    const url = Object.assign(new URL(rig.databaseUrl), { username: role, password: 'owner' })
    const env = { DATABASE_URL: url.href }
    const [found] = (await doctor(rig, env)).of('database')
    expect(found).toMatchObject({
      state: 'problem',
      found: expect.stringMatching(
        /the database accepts no writes at the moment.*default_transaction_read_only is on by the settings of the database/,
      ),
    })
    expect(await typeVerb('musette sql', found?.run, { env })).toMatchObject({ code: 0 })
    expect((await doctor(rig, env)).of('database')).toMatchObject([{ state: 'ok' }])
  })
})

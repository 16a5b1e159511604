import { describe, expect, it, onTestFinished } from 'vitest'
import { openForAll } from '../../kit/open-for.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { doctor, openSignedIn, typeVerb } from './rig.ts'

const rig = openForAll(() => openSignedIn())

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

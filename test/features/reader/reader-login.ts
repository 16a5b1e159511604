import { randomBytes } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { upsertReader } from '../../../src/features/reader/reader.ts'
import { readConfig } from '../../kit/config.ts'
import { makeTestLog } from '../../kit/log.ts'
import { openTestDatabase, queryOnce, type TestDatabase } from '../../kit/postgres.ts'

/** Opens a new database, or uses the given one, and picks a login name; drops the login at the end, because logins belong to the server. */
export async function openReaderLogin(options: { migrated?: boolean; database?: TestDatabase } = {}) {
  const database = options.database ?? (await openTestDatabase(options))
  const name = `analyst_${randomBytes(4).toString('hex')}`
  onTestFinished(async () => {
    await queryOnce(database.url, `DROP ROLE IF EXISTS ${name}`)
    await database.close()
  })
  const log = makeTestLog()
  const config = readConfig({ DATABASE_URL: database.url })
  return {
    name,
    log,
    url: database.url,
    make: (more: { password?: string; statementTimeoutMs?: number } = {}) =>
      upsertReader(config, log.log, { name, ...more }),
  }
}

import type pg from 'pg'
import { sqlstateOf } from '../../core/store/database-errors.ts'
import { assertOneAccount, findHeldAccounts, holdToAccount } from '../../core/store/migration/one-account.ts'
import { checkSchema } from '../../core/store/migration/schema-version.ts'
import { openStore } from '../../core/store/store.ts'
import { ConfigError } from '../../kit/errors.ts'
import { findAccountId, isLoginFor, upsertReaderLogin } from './reader-login.ts'
import { deriveLogin, type ReadingDeps, type ReadingPlace } from './reader-url.ts'

const INSUFFICIENT_PRIVILEGE = '42501'

/**
 * Finds or makes the login that reads: one for each kind of readers of a database and its owner, and one more for each account that is read
 * alone. Throws the errors of the schema check, ConfigError `no_account`, `reader_unavailable` and `one_account_unsupported`.
 */
export async function findReadingLogin(
  { log, readers }: Pick<ReadingDeps, 'log' | 'readers'>,
  { connectionString, account, renew, ...place }: ReadingPlace & { renew: boolean },
): Promise<{ name: string; password: string }> {
  if (place.readerUrl !== undefined) {
    const message =
      'the login of MUSETTE_READER_URL reads every account; leave out the account, or MUSETTE_READER_URL'
    throw new ConfigError('reader_unavailable', message)
  }
  const store = openStore({ log }, { connectionString, maxConnections: 1 })
  try {
    const found = await store.read(async (tx) => {
      // People may also read a database of another version.
      if (readers === 'assistants') await checkSchema(tx)
      const accountId = await findAccountId(tx, account)
      const login = deriveLogin(readers, tx.client as unknown as pg.Client, accountId)
      if (!login) throw refusalOf(readers, 'has no password')
      const isHeld =
        accountId === undefined || (await findHeldAccounts(tx.client, login.name)).includes(accountId)
      return { ...login, accountId, isComplete: isHeld && (await isLoginFor(tx, readers, login.name)) }
    })
    const { accountId } = found
    if (renew || !found.isComplete) {
      if (accountId !== undefined) await assertOneAccount(store)
      await store.transaction(async (tx) => {
        const limits = { statementTimeoutMs: undefined, wholeServer: place.wholeServer }
        await upsertReaderLogin(tx, { ...found, ...limits, readers })
        if (accountId !== undefined) await holdToAccount(tx.client, found.name, accountId)
      })
      log.debug({ login: found.name }, `made a login that only reads, for ${readers}`)
    }
    return found
  } catch (error) {
    throw sqlstateOf(error) === INSUFFICIENT_PRIVILEGE
      ? refusalOf(readers, 'may not make logins', error)
      : error
  } finally {
    await store.close()
  }
}

/** Makes the error if no login can be made; people and pages may then read as the owner. */
function refusalOf(readers: ReadingDeps['readers'], reason: string, cause?: unknown): ConfigError {
  const about = `the user of DATABASE_URL ${reason}`
  const message =
    readers !== 'assistants'
      ? about
      : `${about}, and assistants read by a login of their own; let an administrator run musette reader assistant, and set MUSETTE_READER_URL to the URL that it prints`
  return new ConfigError('reader_unavailable', message, { cause })
}

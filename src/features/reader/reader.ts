import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { sqlstateOf } from '../../core/store/database-errors.ts'
import { assertOneAccount, findHeldAccounts, holdToAccount } from '../../core/store/migration/one-account.ts'
import { checkSchema } from '../../core/store/migration/schema-version.ts'
import { openStore } from '../../core/store/store.ts'
import { ConfigError, errorLine } from '../../kit/errors.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import type { App } from '../../program/app/app.ts'
import { openDatabase, type ServerCopy } from '../../program/app/open-database.ts'
import type { Config } from '../../program/config/config.ts'
import { findOpenRights } from '../../program/query/reader-limits.ts'
import {
  findAccountId,
  findReaderLogins,
  findWritableSchemas,
  renewReaderLogins,
  upsertReaderLogin,
} from '../../program/query/reader-login.ts'
import { readerUrl } from '../../program/query/reader-url.ts'

export type ReaderLogin = Awaited<ReturnType<typeof upsertReader>>

const INSUFFICIENT_PRIVILEGE = '42501'
/** Login names reserved by Postgres and musette. */
const OURS = /^(?:pg_|musette_(?:reader$|one_account$|account_|mcp_|sql_|pages_))/

/**
 * Creates a read-only login in the user's own database or the embedded one, or gives an existing login a new password. Generates the
 * password unless `password` is set. With `account`, row security limits the login to the rows of that account. Throws ConfigError
 * `bad_reader_name`, `bad_reader_password`, `reader_name_taken`, `no_account`, `reader_held` if the login is limited to an account and
 * `account` is not set, `one_account_unsupported` before Postgres 15, and `reader_forbidden` if the user of DATABASE_URL may not create roles.
 */
export async function upsertReader(
  config: Config,
  log: Logger,
  input: {
    name: string
    password?: string | undefined
    statementTimeoutMs?: number | undefined
    /** the only account that the login can read; undefined: all accounts */
    account?: string | undefined
    signal?: AbortSignal
  },
) {
  const { name, password = randomBytes(24).toString('base64url'), statementTimeoutMs, account } = input
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name) || OURS.test(name))
    throw new ConfigError(
      'bad_reader_name',
      'a login name may have at most 63 lower-case letters, digits and _, for example analyst',
    )
  // Other characters are refused, because Postgres would normalize them (SASLprep) or a URL would escape them twice.
  if (!/^[\x21-\x7e]{12,128}$/.test(password))
    throw new ConfigError(
      'bad_reader_password',
      'the password must be 12–128 printable ASCII characters; leave it out to have one generated',
    )
  const database = await openDatabase(config, log, input.signal)
  const store = openStore({ log }, { connectionString: database.url, maxConnections: 1 })
  try {
    const accountId = await store.read(async (tx) => {
      await checkSchema(tx)
      return findAccountId(tx, account)
    })
    if (accountId !== undefined) await assertOneAccount(store)
    const found = await store.transaction(async (tx) => {
      // A new password must not give access to other accounts.
      if (accountId === undefined && (await findHeldAccounts(tx.client, name)).length > 0) {
        const message = `login "${name}" is limited to one account; put the account's name after musette reader ${name} --account, or choose another name for a login that reads all accounts`
        throw new ConfigError('reader_held', message)
      }
      await upsertReaderLogin(tx, { name, password, statementTimeoutMs, wholeServer: !config.databaseUrl })
      if (accountId !== undefined) await holdToAccount(tx.client, name, accountId)
      return {
        /** schemas in which every login of this server may create tables */
        writableSchemas: await findWritableSchemas(tx, name),
        /** rights that the login keeps because the user of DATABASE_URL may not revoke them */
        openRights: await findOpenRights(tx, name),
      }
    })
    // The password is shown once and not stored.
    return { url: readerUrl(database.url, { name, password }), ...found }
  } catch (error) {
    if (sqlstateOf(error) !== INSUFFICIENT_PRIVILEGE) throw error
    const message =
      'the user of DATABASE_URL may not create logins; run this once as an administrator of the server: ' +
      'DATABASE_URL=postgres://administrator:…@host:5432/database musette reader'
    throw new ConfigError('reader_forbidden', message, { cause: error })
  } finally {
    await store.close()
    await database.close()
  }
}

/** Copies the reading logins of one server to another, with their passwords. Logins of assistants are not copied, because musette mcp creates them. */
export const copyReaders: ServerCopy = async ({ log }, { from, to }) => {
  if (to === undefined) return { copied: [], leftOut: [] }
  const found = await closeAfter(openStore({ log }, { connectionString: from }), (source) =>
    source.read(findReaderLogins),
  )
  await closeAfter(openStore({ log }, { connectionString: to }), async (target) => {
    if (found.some(({ account }) => account !== null)) await assertOneAccount(target)
    for (const { name, verifier, timeout, account } of found)
      await target.transaction(async (tx) => {
        const login = { name, password: '', verifier, statementTimeoutMs: timeout ?? undefined }
        await upsertReaderLogin(tx, { ...login, wholeServer: true })
        if (account !== null) await holdToAccount(tx.client, name, account)
      })
  })
  return { copied: found.map(({ name }) => `reading login ${name}`), leftOut: [] }
}

/** Renews the settings and rights of all reading logins, as far as the database user may; logs a failure and does not throw. */
export async function renewReaders({
  store,
  log,
  config,
}: Pick<App, 'store' | 'log' | 'config'>): Promise<void> {
  const wholeServer = !config.databaseUrl
  await store
    .transaction((tx) => renewReaderLogins(tx, { wholeServer }))
    .catch((error: unknown) => {
      const reason = errorLine(error)
      log.warn({ reason }, 'the settings of the reading logins could not be renewed; run: musette reader')
    })
}

import { createHash, createHmac } from 'node:crypto'
import type pg from 'pg'
import type { Logger } from 'pino'
import { sqlstateOf } from '../../core/store/database-errors.ts'
import { FIND_UNLIMITED, grantOneAccount, limitToOneAccount } from '../../core/store/migration/one-account.ts'
import { checkSchema } from '../../core/store/migration/schema-version.ts'
import { openStore, type Tx } from '../../core/store/store.ts'
import { ConfigError } from '../../kit/errors.ts'
import type { Config } from '../../program/config/config.ts'
import {
  findAccountId,
  isAssistantLogin,
  readerUrl,
  upsertReaderLogin,
} from '../../program/query/reader-login.ts'
import { mcpSettings } from './settings.ts'

export type AssistantOptions = {
  /** the URL of the owner */
  connectionString: string
  /** the URL of a login that reads schema training; undefined: musette makes one */
  readerUrl?: string | undefined
  /** whether no other program uses this server */
  wholeServer: boolean
  /** the name of the only account that may be read; undefined: all */
  account?: string | undefined
}

/** Returns how assistants sign in to the database of a configuration. */
export function loginOptions(config: Pick<Config, 'databaseUrl' | 'features'>) {
  return { ...mcpSettings.of(config), wholeServer: config.databaseUrl === undefined }
}

/** A login that only `musette_reader` grants, and the query that must have no rows before its statements run. */
export type AssistantLogin = { url: string; mustBeEmpty: string | undefined }

const INSUFFICIENT_PRIVILEGE = '42501'

/**
 * Finds the login for assistants, or makes it: there is one for a database and its owner, and one more for each account that
 * is read alone. Its password is derived from the owner's, so it is stored nowhere and every process finds the same one.
 * Throws the errors of the schema check, ConfigError `no_account`, `reader_forbidden`, `reader_unavailable` and
 * `one_account_unsupported`.
 */
export async function findAssistantLogin(
  deps: { log: Logger },
  options: AssistantOptions & { renew: boolean },
): Promise<AssistantLogin> {
  const { connectionString, account } = options
  if (options.readerUrl !== undefined) {
    if (account !== undefined) {
      throw new ConfigError(
        'reader_unavailable',
        'the login of MUSETTE_READER_URL reads every account; leave out the account, or MUSETTE_READER_URL',
      )
    }
    return { url: options.readerUrl, mustBeEmpty: undefined }
  }
  const store = openStore(deps, { connectionString, maxConnections: 1 })
  try {
    const found = await store.read(async (tx) => {
      await checkSchema(tx)
      const login = deriveLogin(tx, await findAccountId(tx, account))
      const limited = account === undefined || (await tx.client.query(FIND_UNLIMITED)).rowCount === 0
      return { ...login, complete: limited && (await isAssistantLogin(tx, login.name)) }
    })
    if (options.renew || !found.complete) {
      if (account !== undefined) await limitToOneAccount(store)
      await store.transaction(async (tx) => {
        await upsertReaderLogin(tx, {
          ...found,
          readers: 'assistants',
          statementTimeoutMs: undefined,
          wholeServer: options.wholeServer,
        })
        if (account !== undefined) await grantOneAccount(tx.client, found.name)
      })
      deps.log.info({ login: found.name }, 'made a login that only reads, for assistants')
    }
    const mustBeEmpty = account === undefined ? undefined : FIND_UNLIMITED
    return { url: readerUrl(connectionString, found.name, found.password), mustBeEmpty }
  } catch (error) {
    throw sqlstateOf(error) === INSUFFICIENT_PRIVILEGE ? unavailable('may not make logins', error) : error
  } finally {
    await store.close()
  }
}

/** The name contains database and owner, because logins belong to the whole server. */
function deriveLogin(tx: Tx, accountId: number | undefined): { name: string; password: string } {
  const { database = '', user = '', password } = tx.client as unknown as pg.Client
  if (typeof password !== 'string' || password === '') throw unavailable('has no password')
  const place = createHash('sha256').update(`${database} ${user}`).digest('hex').slice(0, 8)
  const name = `musette_mcp_${place}${accountId === undefined ? '' : `_account_${accountId}`}`
  const derived = createHmac('sha256', password).update(`login for assistants ${name}`)
  return { name, password: derived.digest('base64url') }
}

function unavailable(reason: string, cause?: unknown): ConfigError {
  const message =
    `the user of DATABASE_URL ${reason}, and assistants read by a login of their own; let an administrator run ` +
    'musette reader assistant, and set MUSETTE_READER_URL to the URL that it prints'
  return new ConfigError('reader_unavailable', message, { cause })
}

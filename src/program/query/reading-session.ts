import { createHash, createHmac } from 'node:crypto'
import type pg from 'pg'
import type { Logger } from 'pino'
import { empty, sqlstateOf } from '../../core/store/database-errors.ts'
import { assertOneAccount, findHeldAccounts, holdToAccount } from '../../core/store/migration/one-account.ts'
import { checkSchema } from '../../core/store/migration/schema-version.ts'
import { openStore } from '../../core/store/store.ts'
import { ConfigError, errorCode, errorLine, MusetteError, TransientError } from '../../kit/errors.ts'
import { PostgresClient } from '../../kit/postgres-client.ts'
import { type ConnectionOptions, openGuardedConnection } from './connection.ts'
import { findAccountId, isLoginFor, readerUrl, upsertReaderLogin } from './reader-login.ts'

export type ReadingPlace = {
  /** the URL of the owner */
  connectionString: string
  /** the URL of a login that reads schema training; undefined: musette makes one */
  readerUrl?: string | undefined
  /** whether no other program uses this server */
  wholeServer: boolean
  /** the name of the only account that may be read; undefined: all */
  account?: string | undefined
}

type ReadingDeps = {
  log: Logger
  /** who writes the statements: assistants, or people in `musette sql` */
  readers: 'assistants' | 'people'
  find: () => Promise<ReadingPlace>
}

type Options = Omit<ConnectionOptions, 'connectionString'>
type Found = { url: string; place: ReadingPlace }
export type ReadingSession = Awaited<ReturnType<ReturnType<typeof makeReadingSessions>['open']>>

const INSUFFICIENT_PRIVILEGE = '42501'
/** A pooler's answer to a login that it does not know. */
const PROTOCOL_VIOLATION = '08P01'
/** A server that is only read may be read by its owner. */
const READ_ONLY: ReadonlySet<string> = new Set(['database_read_only', 'database_standby'])

/** Tells whether the owner may do more to the server than read rows, also in a transaction that only reads; and whether there are tables. */
const OWNER = `select r.rolsuper or r.rolreplication or exists (select from pg_roles g where pg_has_role(r.oid, g.oid, 'member')
    and g.rolname in ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files', 'pg_signal_backend', 'pg_checkpoint')),
  to_regnamespace('training') is null
  from pg_roles r where r.rolname = session_user`

/** Returns by which login the statements of a configuration read. */
export function loginOptions(config: { databaseUrl?: string | undefined; readerUrl?: string | undefined }) {
  return { readerUrl: config.readerUrl, wholeServer: config.databaseUrl === undefined }
}

/**
 * Makes what opens the sessions of visitors: guarded connections as a login that reads schema training and nothing else, of all accounts
 * or of one. The login is found once, and made again when the server refuses it; `find` is called for the place of the database until
 * then. `open` throws the errors of openGuardedConnection and of findReadingLogin. Where the login of people cannot be made, their session is the
 * owner's, unless that user may do more to the server than read: then `open` throws ConfigError `reader_unavailable`.
 */
export function makeReadingSessions(deps: ReadingDeps) {
  let login: Promise<Found> | undefined
  const findLogin = (renew: boolean): Promise<Found> => {
    const found = deps
      .find()
      .then(async (place) => ({ place, url: await findReadingLogin(deps, { ...place, renew }) }))
    login = found
    found.catch(() => {
      if (login === found) login = undefined
    })
    return found
  }
  const openAs = async ({ place, url }: Found, options: Options) => ({
    ...(await openGuardedConnection({ ...options, connectionString: url })),
    /** the URLs of the logins that may end the session at the server */
    endedBy: [place.connectionString, url],
    isOfOneAccount: place.account !== undefined,
  })
  const openAsReader = async (options: Options) => {
    const found = await (login ?? findLogin(false))
    try {
      return await openAs(found, options)
    } catch (error) {
      if (!isLoginRefused(error)) throw error
      return openAs(await findLogin(true), options)
    }
  }
  return {
    async open(options: Options) {
      try {
        return await openAsReader(options)
      } catch (error) {
        if (deps.readers !== 'people' || !isWithoutLogin(error)) throw error
        const place = await deps.find()
        if (place.readerUrl !== undefined) throw error
        const owned = await openAs({ place, url: place.connectionString }, options)
        await assertHarmless(owned, error)
        return owned
      }
    },
  }
}

const isLoginRefused = (error: unknown) =>
  errorCode(error) === 'database_login_refused' || sqlstateOf(error) === PROTOCOL_VIOLATION

const isWithoutLogin = (error: unknown) =>
  isLoginRefused(error) ||
  READ_ONLY.has(errorCode(error)) ||
  (error instanceof MusetteError && !(error instanceof TransientError))

/** Closes the owner's session and throws, unless it can only read; `cause` is why there is no login. */
async function assertHarmless(
  session: Awaited<ReturnType<typeof openGuardedConnection>>,
  cause: unknown,
): Promise<void> {
  try {
    for await (const part of session.run(OWNER)) {
      if (part.kind !== 'rows') continue
      const [isMore, isEmpty] = part.rows[0] ?? []
      if (isMore === 't') throw isEmpty === 't' ? empty(cause) : ownerMayMore(cause)
    }
  } catch (error) {
    await session.close()
    throw error
  }
}

/**
 * Finds the login that reads, or makes it: one for each kind of readers of a database and its owner, and one more for each account that is read
 * alone. Its password is derived from the owner's, so it is stored nowhere and every process finds the same one. Whether people's login
 * exists is seen when it connects. Throws the errors of the schema check, ConfigError `no_account`, `reader_unavailable` and
 * `one_account_unsupported`.
 */
async function findReadingLogin(
  { log, readers }: Pick<ReadingDeps, 'log' | 'readers'>,
  { connectionString, account, renew, ...place }: ReadingPlace & { renew: boolean },
): Promise<string> {
  if (place.readerUrl !== undefined) {
    if (account === undefined) return place.readerUrl
    const message =
      'the login of MUSETTE_READER_URL reads every account; leave out the account, or MUSETTE_READER_URL'
    throw new ConfigError('reader_unavailable', message)
  }
  const urlOf = (login: { name: string; password: string }) =>
    readerUrl(connectionString, login.name, login.password)
  if (readers === 'people' && !renew) {
    const login = deriveLogin(readers, new PostgresClient({ connectionString }))
    if (login) return urlOf(login)
  }
  const store = openStore({ log }, { connectionString, maxConnections: 1 })
  try {
    const found = await store.read(async (tx) => {
      // People read a database of another version too.
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
    return urlOf(found)
  } catch (error) {
    throw sqlstateOf(error) === INSUFFICIENT_PRIVILEGE
      ? refusalOf(readers, 'may not make logins', error)
      : error
  } finally {
    await store.close()
  }
}

/**
 * Derives name and password; undefined for an owner without a password. The name contains database and owner, because logins belong to the
 * whole server. The number says how a login is made: one that was made in another way is refused, and made again.
 */
function deriveLogin(
  readers: ReadingDeps['readers'],
  { database = '', user = '', password }: Pick<pg.Client, 'database' | 'user' | 'password'>,
  accountId?: number,
): { name: string; password: string } | undefined {
  if (typeof password !== 'string' || password === '') return undefined
  const place = createHash('sha256').update(`${database} ${user}`).digest('hex').slice(0, 8)
  const kind = readers === 'people' ? 'sql' : 'mcp'
  const name = `musette_${kind}_${place}${accountId === undefined ? '' : `_account_${accountId}`}`
  const derived = createHmac('sha256', password).update(`login for ${readers} (2) ${name}`)
  return { name, password: derived.digest('base64url') }
}

/** Why no login can be made; people may read as the owner then. */
function refusalOf(readers: ReadingDeps['readers'], reason: string, cause?: unknown): ConfigError {
  const about = `the user of DATABASE_URL ${reason}`
  const message =
    readers === 'people'
      ? about
      : `${about}, and assistants read by a login of their own; let an administrator run musette reader assistant, and set MUSETTE_READER_URL to the URL that it prints`
  return new ConfigError('reader_unavailable', message, { cause })
}

function ownerMayMore(cause: unknown): ConfigError {
  const message = `musette sql reads by a login of its own, because the user of DATABASE_URL may run programs or end sessions; this login could not be made: ${errorLine(cause)}; run: musette reader analyst, and set MUSETTE_READER_URL to the URL that it prints, or add --write`
  return new ConfigError('reader_unavailable', message, { cause })
}

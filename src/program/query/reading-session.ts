import { empty, sqlstateOf } from '../../core/store/database-errors.ts'
import { ConfigError, errorCode, errorLine, MusetteError, TransientError } from '../../kit/errors.ts'
import { PostgresClient } from '../../kit/postgres-client.ts'
import { type ConnectionOptions, openGuardedConnection } from './connection.ts'
import { deriveLogin, type ReadingDeps, type ReadingPlace, readerUrl } from './reader-url.ts'

type Options = Omit<ConnectionOptions, 'connectionString'>
type Found = { url: string; place: ReadingPlace }
export type ReadingSession = Awaited<ReturnType<ReturnType<typeof makeReadingSessions>['open']>>

/** The SQLSTATE with which a pooler refuses a login that it does not know. */
const PROTOCOL_VIOLATION = '08P01'
/** A server that accepts only reads may be read by its owner. */
const READ_ONLY: ReadonlySet<string> = new Set(['database_read_only', 'database_standby'])

/** Selects whether the owner may do more to the server than read rows, even in a read-only transaction, and whether the tables are missing. */
const OWNER = `select r.rolsuper or r.rolreplication or exists (select from pg_roles g where pg_has_role(r.oid, g.oid, 'member')
    and g.rolname in ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files', 'pg_signal_backend', 'pg_checkpoint')),
  to_regnamespace('training') is null
  from pg_roles r where r.rolname = session_user`

/** Returns which login a configuration's statements use. */
export function loginOptions(config: { databaseUrl?: string | undefined; readerUrl?: string | undefined }) {
  return { readerUrl: config.readerUrl, wholeServer: config.databaseUrl === undefined }
}

/** Returns a function that runs `use` with the visitors' login. The login is found once, and made again if the server refuses it, unless `isBegun` returns true by then. */
export function makeLogins(deps: ReadingDeps) {
  let login: Promise<Found> | undefined
  const findLogin = (renew: boolean): Promise<Found> => {
    const found = deps.find().then(async (place) => ({ place, url: await findUrl(deps, place, renew) }))
    login = found
    found.catch(() => {
      if (login === found) login = undefined
    })
    return found
  }
  return async <T>(use: (found: Found) => Promise<T>, isBegun = () => false): Promise<T> => {
    const first = login ?? findLogin(false)
    const found = await first
    try {
      return await use(found)
    } catch (error) {
      if (isBegun() || !isLoginRefused(error)) throw error
      return use(await (login && login !== first ? login : findLogin(true)))
    }
  }
}

/**
 * Returns `open`, which opens sessions of visitors: guarded connections with a login that reads schema training and nothing else, for all
 * accounts or one, see makeLogins. `find` is called for the place of the database until the login is found. `open` throws the errors of
 * openGuardedConnection and findReadingLogin. If the login for people cannot be made, their session is the owner's, unless the owner may do
 * more to the server than read: then `open` throws ConfigError `reader_unavailable`.
 */
export function makeReadingSessions(deps: ReadingDeps) {
  const withLogin = makeLogins(deps)
  const openAs = async ({ place, url }: Found, options: Options) => ({
    ...(await openGuardedConnection({
      ...options,
      connectionString: url,
      // A URL that a person sets may lead to a pooler, which signs in to the server as its own user.
      onlyAsUser: url !== place.connectionString && url !== place.readerUrl,
    })),
    /** the URLs of the logins that may end the session on the server */
    endedBy: [place.connectionString, url],
    isOfOneAccount: place.account !== undefined,
  })
  return {
    async open(options: Options) {
      try {
        return await withLogin((found) => openAs(found, options))
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

/** Reports whether the login cannot be made or used, but the owner may read. */
export const isWithoutLogin = (error: unknown) =>
  isLoginRefused(error) ||
  READ_ONLY.has(errorCode(error)) ||
  (error instanceof MusetteError && !(error instanceof TransientError))

/** Closes the owner's session and throws unless the owner can only read; `cause` is why there is no login. */
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

/** Loads the code that finds and makes logins. A daemon loads it early, because an upgrade may replace its files. */
export const loadLogins = () => import('./reading-login.ts')

/**
 * Returns the URL of the login. For people, connects without looking up the login first and without loading the code for that, because a
 * person waits for one answer.
 */
async function findUrl(deps: ReadingDeps, place: ReadingPlace, renew: boolean): Promise<string> {
  const { connectionString } = place
  if (place.readerUrl !== undefined && place.account === undefined) return place.readerUrl
  const client = new PostgresClient({ connectionString })
  const login = deps.readers === 'people' && !renew ? deriveLogin(deps.readers, client) : undefined
  if (login) return readerUrl(connectionString, login)
  const { findReadingLogin } = await loadLogins()
  return readerUrl(connectionString, await findReadingLogin(deps, { ...place, renew }))
}

function ownerMayMore(cause: unknown): ConfigError {
  const message = `musette sql reads with its own login, because the user of DATABASE_URL may run programs or end sessions; this login could not be made: ${errorLine(cause)}; run: musette reader analyst, and set MUSETTE_READER_URL to the URL that it prints, or add --write`
  return new ConfigError('reader_unavailable', message, { cause })
}

import { createHash, createHmac } from 'node:crypto'
import type pg from 'pg'
import type { Logger } from 'pino'

export type ReadingPlace = {
  /** the URL of the owner */
  connectionString: string
  /** the URL of a login that reads schema training; undefined: musette makes a login */
  readerUrl?: string | undefined
  /** whether no other program uses this server */
  wholeServer: boolean
  /** the name of the only account that may be read; undefined: all accounts */
  account?: string | undefined
}

export type ReadingDeps = {
  log: Logger
  /** who writes the statements: assistants, people in `musette sql`, or musette for its pages */
  readers: 'assistants' | 'people' | 'pages'
  find: () => Promise<ReadingPlace>
}

/** Returns a login's connection URL, made from the owner's URL. */
export function readerUrl(
  databaseUrl: string,
  { name, password }: { name: string; password: string },
): string {
  const url = new URL(databaseUrl)
  // The owner's credentials are not for the analyst, and programs older than Postgres 16 refuse `require_auth`.
  for (const field of ['user', 'password', 'passfile', 'sslcert', 'sslkey', 'sslpassword', 'require_auth']) {
    url.searchParams.delete(field)
  }
  // This login's transactions are read-only on every server.
  if (url.searchParams.get('target_session_attrs') === 'read-write')
    url.searchParams.set('target_session_attrs', 'primary')
  if (url.host === '') {
    // A socket's URL has no host, so user and password are in the query.
    url.searchParams.set('user', name)
    url.searchParams.set('password', password)
  } else {
    url.username = name
    url.password = encodeURIComponent(password)
  }
  return url.href
}

/**
 * Derives a login's name and password from the owner's password, so that the password is stored nowhere and every process derives the same
 * one. Returns undefined if the owner has no password. The name contains a hash of database and owner, because logins belong to the whole
 * server. The number in the text is the version of a login: a login of another version is refused and made again.
 */
export function deriveLogin(
  readers: ReadingDeps['readers'],
  { database = '', user = '', password }: Pick<pg.Client, 'database' | 'user' | 'password'>,
  accountId?: number,
): { name: string; password: string } | undefined {
  if (typeof password !== 'string' || password === '') return undefined
  const place = createHash('sha256').update(`${database} ${user}`).digest('hex').slice(0, 8)
  const kind = { assistants: 'mcp', people: 'sql', pages: 'pages' }[readers]
  const name = `musette_${kind}_${place}${accountId === undefined ? '' : `_account_${accountId}`}`
  const derived = createHmac('sha256', password).update(`login for ${readers} (2) ${name}`)
  return { name, password: derived.digest('base64url') }
}

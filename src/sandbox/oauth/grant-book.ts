import { randomBytes } from 'node:crypto'
import { isLoopback } from '../../kit/loopback.ts'

/** A permission that a rider gave to a client. */
export type Grant = { id: string; username: string; clientId: string }

type Code = {
  grantId: string
  username: string
  clientId: string
  redirectUri: string
  expiresMs: number
  used: boolean
}

/** All issued grants, codes and tokens. */
export type GrantBook = {
  grants: Map<string, Grant>
  codes: Map<string, Code>
  access: Map<string, Pick<Code, 'grantId' | 'expiresMs'>>
  refresh: Map<string, Pick<Code, 'grantId' | 'expiresMs' | 'used'>>
}

/** Lifetime of a code, ms: a program exchanges a code at once, and a minute is enough for a person who pastes it. */
const CODE_MS = 60_000

export function recordGrant(book: GrantBook, input: Omit<Grant, 'id'>): Grant {
  const grant = { id: makeSecret(), ...input }
  book.grants.set(grant.id, grant)
  return grant
}

/** Issues a new pair of tokens for a grant. Older access tokens stay valid until they expire. */
export function issuePair(
  book: GrantBook,
  input: { grantId: string; nowMs: number; seconds: number; refreshSeconds: number },
) {
  const { grantId, nowMs, seconds, refreshSeconds } = input
  const [access, refresh] = [makeSecret(), makeSecret()]
  book.access.set(access, { grantId, expiresMs: nowMs + seconds * 1_000 })
  book.refresh.set(refresh, { grantId, expiresMs: nowMs + refreshSeconds * 1_000, used: false })
  return { access_token: access, refresh_token: refresh, expires_in: seconds }
}

/** Issues a code bound to rider, client and redirect address. */
export function issueCode(
  book: GrantBook,
  input: Pick<Code, 'username' | 'clientId' | 'redirectUri'> & { nowMs: number },
): string {
  const code = makeSecret()
  const { nowMs, ...bound } = input
  book.codes.set(code, { ...bound, grantId: '', expiresMs: nowMs + CODE_MS, used: false })
  return code
}

/** Exchanges a code for a grant; returns undefined if the code is unknown, expired, used, or bound to other values. A second use of a code revokes its grant (RFC 6749 §4.1.2). */
export function redeemCode(
  book: GrantBook,
  input: { code: string; clientId: string; redirectUri: string; nowMs: number },
): Grant | undefined {
  const code = book.codes.get(input.code)
  if (!code) return undefined
  if (code.used) {
    revokeGrant(book, code.grantId)
    return undefined
  }
  if (code.clientId !== input.clientId || code.redirectUri !== input.redirectUri) return undefined
  code.used = true
  if (input.nowMs >= code.expiresMs) return undefined
  const grant = recordGrant(book, { username: code.username, clientId: code.clientId })
  code.grantId = grant.id
  return grant
}

/** Marks a refresh token as used and returns its grant; returns undefined if the token is unknown, used, expired or belongs to another client. */
export function redeemRefresh(
  book: GrantBook,
  input: { token: string; clientId: string; nowMs: number; reuseRevokes: boolean },
): Grant | undefined {
  const refresh = book.refresh.get(input.token)
  const grant = refresh && book.grants.get(refresh.grantId)
  if (!refresh || grant?.clientId !== input.clientId || input.nowMs >= refresh.expiresMs) return undefined
  if (refresh.used) {
    if (input.reuseRevokes) revokeGrant(book, grant.id)
    return undefined
  }
  refresh.used = true
  return grant
}

/** Finds the grant of an access token; returns undefined if the token is unknown, expired or revoked. */
export function findBearer(book: GrantBook, token: string, nowMs: number): Grant | undefined {
  const access = book.access.get(token)
  if (!access || nowMs >= access.expiresMs) return undefined
  return book.grants.get(access.grantId)
}

/** Expires all access tokens now; refresh tokens stay valid. Returns how many access tokens there were. */
export function expireAccess(book: GrantBook): number {
  const alive = book.access.size
  book.access.clear()
  return alive
}

/** Revokes all grants, with their tokens and codes. Returns how many grants there were. */
export function revokeAll(book: GrantBook): number {
  const alive = book.grants.size
  for (const map of [book.grants, book.codes, book.access, book.refresh]) map.clear()
  return alive
}

function revokeGrant(book: GrantBook, grantId: string): void {
  book.grants.delete(grantId)
  for (const [token, access] of book.access) if (access.grantId === grantId) book.access.delete(token)
}

export function makeSecret(): string {
  return randomBytes(20).toString('hex')
}

/** A program that may request tokens, and the grant types that it may use. */
export type Client = {
  id: string
  secret: string
  name: string
  grants: ReadonlyArray<'password' | 'refresh_token' | 'authorization_code'>
  /** Reports whether a redirect address is registered. */
  mayRedirect: (uri: string) => boolean
}

const PUBLIC_CLIENT: Client = {
  id: 'service_public',
  secret: 'service_public',
  name: 'Public client',
  grants: ['password', 'refresh_token'],
  mayRedirect: () => false,
}

const DEMO_APPLICATION: Client = {
  id: 'demo_app',
  secret: 'demo_secret',
  name: 'Demo Application',
  grants: ['authorization_code', 'refresh_token'],
  mayRedirect: isOfThisMachine,
}

/** A client that only this sandbox knows. */
export type RegisteredClient = { id: string; secret: string; redirectUris?: readonly string[] }

/** Returns the clients of a sandbox. A registered client may use every grant type, and its redirect addresses must match exactly. */
export function clientsOf(further: readonly RegisteredClient[]): Client[] {
  const registered = further.map(({ id, secret, redirectUris = [] }) => ({
    ...{ id, secret, name: id },
    grants: ['password', 'refresh_token', 'authorization_code'] as const,
    mayRedirect: (uri: string) => redirectUris.includes(uri),
  }))
  return [...registered, PUBLIC_CLIENT, DEMO_APPLICATION]
}

/** Reports whether an address is on this machine, with any port and path, without fragment or credentials. */
function isOfThisMachine(uri: string): boolean {
  if (!URL.canParse(uri)) return false
  const { protocol, hostname, hash, username, password } = new URL(uri)
  return protocol === 'http:' && isLoopback(hostname) && `${hash}${username}${password}` === ''
}

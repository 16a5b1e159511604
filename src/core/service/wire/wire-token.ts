import { isObject } from '../../../kit/json.ts'
import { DAY, SECOND } from '../../../kit/time.ts'
import { readNumber } from './lenient.ts'

/** Lifetime of an access token in the service document, used if a response has no valid lifetime. */
const DOCUMENTED_LIFETIME_S = 604_800
/** Minimum lifetime, because with a shorter lifetime each call would refresh the token. */
const MIN_LIFETIME_S = 1
/**
 * Maximum accepted lifetime, ms: a refresh token may expire after 14 days, and a pair is refreshed at 60 % of its life. A much longer lifetime
 * would exceed the range of a Date and of Postgres.
 */
export const MAX_LIFETIME_MS = 14 * DAY

/** Visible ASCII without spaces: any other character could split a header or make it invalid. */
const TOKEN = /^[\x21-\x7e]+$/

/**
 * Parses a token response by its content (service document, "Token response"); undefined if it has no token. A missing token is undefined, and
 * so is an access token that a header cannot hold. `expires_in` is in seconds, from 1 to 14 days.
 */
export function parseToken(wire: unknown) {
  if (!isObject(wire)) return undefined
  const { access_token: access, expires_in, refresh_token: sent } = wire
  const access_token = typeof access === 'string' && TOKEN.test(access) ? access : undefined
  const refresh_token = typeof sent === 'string' && sent !== '' ? sent : undefined
  if (access_token === undefined && refresh_token === undefined) return undefined
  return { access_token, refresh_token, expires_in: lifetimeOf(expires_in) }
}

function lifetimeOf(expiresIn: unknown): number {
  const lifetime = readNumber(expiresIn) ?? 0
  return lifetime < MIN_LIFETIME_S ? DOCUMENTED_LIFETIME_S : Math.min(lifetime, MAX_LIFETIME_MS / SECOND)
}

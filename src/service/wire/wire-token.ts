import { z } from 'zod'
import { DAY, SECOND } from '../../kit/time.ts'
import { numberField } from './lenient.ts'

/** The document's lifetime of an access token, for an answer without a valid one. */
const DOCUMENTED_LIFETIME_S = 604_800
/** With a shorter lifetime a pair would expire before its first use, and each call would refresh. */
const MIN_LIFETIME_S = 1
/**
 * The longest lifetime that is accepted, in ms: a refresh token may expire after 14 days, and the pair is refreshed at six tenths
 * of its life. A much longer one would end at a time that neither a Date nor Postgres can hold.
 */
export const MAX_LIFETIME_MS = 14 * DAY

/** Visible ASCII without spaces: any other character could split a header or be refused in one. */
const TOKEN = /^[\x21-\x7e]+$/

const tokenSchema = z.looseObject({ access_token: z.string().regex(TOKEN).optional().catch(undefined) })

/**
 * Parses a token response by its content (service document, "Token response"); undefined without any token. A token is undefined
 * when none was sent, an access token also when no header can hold it; `expires_in` is in seconds, from 1 to 14 days.
 */
export function parseToken(wire: unknown) {
  const parsed = tokenSchema.safeParse(wire)
  if (!parsed.success) return undefined
  const { access_token, expires_in, refresh_token: sent } = parsed.data
  const refresh_token = typeof sent === 'string' && sent !== '' ? sent : undefined
  if (access_token === undefined && refresh_token === undefined) return undefined
  return { access_token, refresh_token, expires_in: lifetimeOf(expires_in) }
}

function lifetimeOf(expiresIn: unknown): number {
  const lifetime = numberField.safeParse(expiresIn).data ?? 0
  return lifetime < MIN_LIFETIME_S ? DOCUMENTED_LIFETIME_S : Math.min(lifetime, MAX_LIFETIME_MS / SECOND)
}

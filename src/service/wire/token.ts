import { z } from 'zod'
import { isObject, numberField } from './fields.ts'

/** The document's lifetime of an access token, for an answer that leaves it out or makes no sense. */
const DOCUMENTED_LIFETIME_S = 604_800

/** What may stand in a header: visible ASCII without spaces, so that a token can neither split a header nor fail in one. */
const TOKEN = /^[\x21-\x7e]+$/

const tokenSchema = z.looseObject({ access_token: z.string().regex(TOKEN) })

/** A token response (service document, "Token response"); `refresh_token` is undefined when none was sent. */
export type WireToken = { access_token: string; refresh_token: string | undefined; expires_in: number }

/** Parses a token response by its content; undefined when it holds no usable access token (service document, endpoint 1). */
export function parseToken(wire: unknown): WireToken | undefined {
  const parsed = tokenSchema.safeParse(wire)
  if (!parsed.success) return undefined
  const { access_token, refresh_token, expires_in } = parsed.data
  const lifetime = numberField.safeParse(expires_in).data
  return {
    access_token,
    refresh_token: typeof refresh_token === 'string' && refresh_token !== '' ? refresh_token : undefined,
    expires_in: lifetime && lifetime > 0 ? lifetime : DOCUMENTED_LIFETIME_S,
  }
}

/** Reads the `error` word of an OAuth error body (RFC 6749 section 5.2); undefined when there is none. */
export function parseOAuthError(wire: unknown): string | undefined {
  if (!isObject(wire) || typeof wire.error !== 'string' || wire.error === '') return undefined
  return wire.error
}

import type { FastifyRequest } from 'fastify'

const NAME = 'musette_session'

/** Reads the session out of a request's cookies; undefined when there is none. */
export function readSessionCookie({ headers }: FastifyRequest): string | undefined {
  for (const pair of headers.cookie?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=', 2)
    if (name === NAME && value !== undefined) return value
  }
  return undefined
}

/**
 * Writes the cookie of a session; one of no time at all takes it away. `Secure` is by the page's own address as the
 * browser tells it with a write: headers of a proxy in front can be anybody's.
 */
export function makeSessionCookie(
  { headers }: FastifyRequest,
  session: { value: string; maxAgeS: number },
): string {
  const secure = headers.origin?.startsWith('https://') ? '; Secure' : ''
  return `${NAME}=${session.value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${session.maxAgeS}${secure}`
}

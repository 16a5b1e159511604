import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * What every answer says: nothing from another host, no frame around it, nothing kept in a cache. A page that needs more
 * says so itself. Not `no-referrer`: with that a browser sends `Origin: null` with its own forms.
 */
const STRICT_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': policy({
    'script-src': "'self'",
    'style-src': "'self'",
    'img-src': "'self' data:",
    'font-src': "'self'",
    'connect-src': "'self'",
    'form-action': "'self'",
  }),
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
}

/** Sets the strict headers before anything else happens to a request, so that refusals carry them, too. */
export async function setStrictHeaders(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.headers(STRICT_HEADERS)
}

/** Writes a content security policy: what is not named is forbidden. */
export function policy(allowed: Readonly<Record<string, string>>): string {
  const rules = { 'default-src': "'none'", 'base-uri': "'none'", 'frame-ancestors': "'none'", ...allowed }
  return Object.entries(rules)
    .map(([name, sources]) => `${name} ${sources}`)
    .join('; ')
}

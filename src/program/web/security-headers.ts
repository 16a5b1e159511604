import fastifyHelmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'

/**
 * Adds security headers to every answer, also to refusals: content only from this host, and pictures from the hosts of `pictures`, in
 * which `{s}` is a, b or c; no framing, no caching. A route that needs more sets its own policy. Must be registered first.
 */
export async function registerSecurityHeaders(
  server: FastifyInstance,
  pictures: ReadonlyArray<string | undefined> = [],
): Promise<void> {
  const addresses = pictures.flatMap((address) =>
    address === undefined
      ? []
      : ['a', 'b', 'c'].map((part) => new URL(address.replaceAll('{s}', part)).origin),
  )
  const hosts = [...new Set(addresses)]
  await server.register(fastifyHelmet, {
    contentSecurityPolicy: contentPolicy({
      'script-src': ["'self'"],
      'style-src': ["'self'"],
      'img-src': ["'self'", 'data:', ...hosts],
      'font-src': ["'self'"],
      'connect-src': ["'self'"],
      'form-action': ["'self'"],
    }),
    crossOriginResourcePolicy: { policy: 'same-origin' },
    frameguard: { action: 'deny' },
    // With `no-referrer`, a browser would send `Origin: null` with its own forms. Picture hosts on other sites want to know the referring site.
    referrerPolicy: { policy: hosts.length === 0 ? 'same-origin' : 'strict-origin-when-cross-origin' },
    // Leave this header to the TLS proxy, because a browser would apply it to every other server of this host.
    strictTransportSecurity: false,
  })
  server.addHook('onRequest', async (_request, reply) => {
    reply.headers({
      'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
      'cache-control': 'no-store',
    })
  })
}

/** Makes a content security policy for helmet; everything not in `allowed` is forbidden. */
export function contentPolicy(allowed: Readonly<Record<string, readonly string[]>>) {
  const nothing = ["'none'"]
  const rules = { 'default-src': nothing, 'base-uri': nothing, 'frame-ancestors': nothing, ...allowed }
  return { useDefaults: false, directives: rules }
}

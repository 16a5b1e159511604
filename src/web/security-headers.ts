import fastifyHelmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'

/**
 * Adds the security headers to every answer, refusals included: nothing from another host but map tiles, no frame around it, nothing
 * kept in a cache. A route that needs more says so itself. Must be registered first.
 */
export async function registerSecurityHeaders(
  server: FastifyInstance,
  { mapTiles }: { mapTiles: string | undefined },
): Promise<void> {
  await server.register(fastifyHelmet, {
    contentSecurityPolicy: contentPolicy({
      'script-src': ["'self'"],
      'style-src': ["'self'"],
      'img-src': ["'self'", 'data:', ...(mapTiles === undefined ? [] : [new URL(mapTiles).origin])],
      'font-src': ["'self'"],
      'connect-src': ["'self'"],
      'form-action': ["'self'"],
    }),
    crossOriginResourcePolicy: { policy: 'same-origin' },
    frameguard: { action: 'deny' },
    // Not `no-referrer`: with that a browser sends `Origin: null` with its own forms. Servers of map tiles ask who shows them.
    referrerPolicy: { policy: mapTiles === undefined ? 'same-origin' : 'strict-origin-when-cross-origin' },
    // A matter of the proxy that speaks TLS: a browser would keep it for every other server of this host.
    strictTransportSecurity: false,
  })
  server.addHook('onRequest', async (_request, reply) => {
    reply.headers({
      'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
      'cache-control': 'no-store',
    })
  })
}

/** Makes a content security policy for helmet: it forbids everything that is not named. */
export function contentPolicy(allowed: Readonly<Record<string, readonly string[]>>) {
  const nothing = ["'none'"]
  const rules = { 'default-src': nothing, 'base-uri': nothing, 'frame-ancestors': nothing, ...allowed }
  return { useDefaults: false, directives: rules }
}

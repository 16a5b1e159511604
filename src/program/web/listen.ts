import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { ConfigError, errorCode } from '../../kit/errors.ts'
import { MINUTE, SECOND } from '../../kit/time.ts'

/** Time limit of a whole request, ms, because a slow sender occupies a connection; file uploads have a longer limit. */
export const REQUEST_MS = 10 * SECOND

/** Time limit of a file upload, ms: enough for 200 MiB over a slow line. */
export const MAX_UPLOAD_MS = 60 * MINUTE

/**
 * Maximum number of open connections. A browser opens six; Postgres, the service and the drop folder need the rest of the 1,024 file
 * descriptors.
 */
const MAX_CONNECTIONS = 256

/**
 * Limits a server's connections. Beyond the limit, a new connection closes the oldest one that waits for a request or its body, first those
 * without an authenticated request, so that strangers and idle connections do not block others. Must run before routes are added.
 */
export function limitConnections(server: FastifyInstance): void {
  const unknown = new Set<Socket>()
  const idle = new Set<Socket>()
  let open = 0
  const forget = (socket: Socket) => {
    unknown.delete(socket)
    idle.delete(socket)
  }
  server.server.on('connection', (socket: Socket) => {
    open += 1
    socket.once('close', () => {
      open -= 1
      forget(socket)
    })
    if (open > MAX_CONNECTIONS) {
      const [oldest = socket] = [...unknown, ...idle]
      forget(oldest)
      oldest.destroy()
    }
    if (!socket.destroyed) unknown.add(socket)
  })
  // This hook runs after the token check, when the body has arrived or goes to a route for files.
  server.addHook('preHandler', async ({ signedIn, raw }) => {
    if (signedIn) forget(raw.socket)
  })
  server.addHook('onResponse', async ({ signedIn, raw: { socket } }) => {
    if (!signedIn || socket.destroyed) return
    forget(socket)
    idle.add(socket)
  })
  server.addHook('onSend', async ({ signedIn }, reply) => {
    if (!signedIn) reply.header('connection', 'close')
  })
}

/** Starts a server on the address of MUSETTE_HTTP. Throws ConfigError `http_cannot_listen`. */
export async function listenOn(
  server: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<{ url: string; close(): Promise<void> }> {
  const url = await server.listen({ host, port }).catch((error) => {
    const message = `MUSETTE_HTTP: cannot listen on ${host}:${port} (${errorCode(error)}); set another address, or off`
    throw new ConfigError('http_cannot_listen', message, { cause: error })
  })
  return { url, close: () => server.close() }
}

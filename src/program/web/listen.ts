import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { ConfigError, errorCode } from '../../kit/errors.ts'
import { MINUTE, SECOND } from '../../kit/time.ts'

/** The time limit of a whole request, ms, except for files: a slow sender occupies a connection. */
export const REQUEST_MS = 10 * SECOND

/** The time of a 200 MiB file over a slow line. */
export const MAX_UPLOAD_MS = 60 * MINUTE

/** A browser opens six; the rest of a process's 1,024 file descriptors are for Postgres, the service and the drop folder. */
const MAX_CONNECTIONS = 256

/** Limits the connections of a server, so that unauthenticated ones do not block others. Must run before its routes are added. */
export function limitConnections(server: FastifyInstance): void {
  const unauthenticated = new Set<Socket>()
  let open = 0
  server.server.on('connection', (socket: Socket) => {
    open += 1
    unauthenticated.add(socket)
    socket.once('close', () => {
      open -= 1
      unauthenticated.delete(socket)
    })
    if (open <= MAX_CONNECTIONS) return
    const [oldest = socket] = unauthenticated
    unauthenticated.delete(oldest)
    oldest.destroy()
  })
  // This hook is the first that runs after the check of the token.
  server.addHook('preParsing', async ({ authenticated, raw }) => {
    if (authenticated) unauthenticated.delete(raw.socket)
  })
  server.addHook('onSend', async ({ authenticated }, reply) => {
    if (!authenticated) reply.header('connection', 'close')
  })
}

/** Opens a server on the address of MUSETTE_HTTP. Throws ConfigError `http_cannot_listen`. */
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

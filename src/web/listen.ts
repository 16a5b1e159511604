import type { FastifyInstance } from 'fastify'
import { ConfigError, errorCode } from '../kit/errors.ts'
import { SECOND } from '../kit/time.ts'

/** How long a whole request may take to arrive, ms, but for a file: a slow sender holds a connection. */
export const REQUEST_MS = 10 * SECOND

/** Opens a server on the address of MUSETTE_HTTP. Throws ConfigError `http_cannot_listen`. */
export async function listenOn(
  server: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<{ url: string; close(): Promise<void> }> {
  try {
    const url = await server.listen({ host, port })
    return { url, close: () => server.close() }
  } catch (error) {
    const message = `MUSETTE_HTTP: cannot listen on ${host}:${port} (${errorCode(error)}); set another address, or off`
    throw new ConfigError('http_cannot_listen', message, { cause: error })
  }
}

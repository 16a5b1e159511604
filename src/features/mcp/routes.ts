import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { WebParts } from '../../program/frame/define-feature.ts'
import { loadLogins, loginOptions } from '../../program/query/reading-session.ts'
import { makeGuardedReader } from './guarded-reader.ts'

/** Maximum size of a request: even a long statement is only about 10 kB. */
const MAX_BODY_BYTES = 256 * 1024
/** Authentication headers, which the SDK must not see; the web server has already checked them. */
const KEPT_BACK: ReadonlySet<string> = new Set(['authorization', 'cookie', 'x-musette-key'])

/**
 * Adds `/mcp`, the Model Context Protocol over streamable HTTP. Closing a connection cancels its running call. Loads its modules before the
 * server listens, because an upgrade may replace the program's files while the daemon runs.
 */
export async function registerAssistants(
  server: FastifyInstance,
  { app: { config, log, databaseUrl } }: { app: Pick<WebParts['app'], 'config' | 'log' | 'databaseUrl'> },
): Promise<void> {
  const makeReader = (account: string | undefined) => {
    const find = async () => ({ ...loginOptions(config), connectionString: databaseUrl, account })
    return makeGuardedReader({ log, find })
  }
  const loaded = Promise.all([import('./http.ts'), loadLogins()])
  const made = loaded.then(([http]) => http.httpServer({ log }, makeReader))
  server.addHook('onReady', async () => void (await made))
  server.addHook('onClose', async () => (await made).close())
  await server.register(async (scope) => {
    // Keeps the body as text, because the protocol defines the response to invalid JSON.
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'string' },
      async (_: FastifyRequest, text: string) => text,
    )
    scope.route({
      method: ['GET', 'HEAD', 'POST', 'DELETE'],
      // fastify's own HEAD handler cannot determine the length of a Response.
      exposeHeadRoute: false,
      url: '/mcp',
      bodyLimit: MAX_BODY_BYTES,
      config: { forPrograms: true },
      handler: async (request, reply) => {
        const gone = new AbortController()
        reply.raw.once('close', () => gone.abort())
        const text = request.body as string | undefined
        return reply.send(await (await made).fetch(toWebRequest(request), text, gone.signal))
      },
    })
  })
}

function toWebRequest({ headers, url, method }: FastifyRequest): Request {
  const kept = Object.entries(headers).filter(([name, value]) => value !== undefined && !KEPT_BACK.has(name))
  const texts = kept.map(([name, value]): [string, string] => [name, String(value)])
  // The SDK does not support HEAD, which is a GET whose response has no body.
  return new Request(new URL(url, 'http://localhost'), {
    method: method === 'HEAD' ? 'GET' : method,
    headers: texts,
  })
}

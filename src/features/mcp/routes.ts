import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { VERSION } from '../../kit/program-folder.ts'
import type { WebParts } from '../../program/frame/define-feature.ts'
import { loginOptions } from './assistant-reader.ts'
import { makeGuardedReader } from './guarded-reader.ts'
import type { HttpServer } from './http.ts'

/** Answers one MCP request with the body `text`; `closed` aborts when the connection closes. */
type McpFetch = (request: Request, text: string | undefined, closed: AbortSignal) => Promise<Response>

/** Questions are short; a long statement has some 10 kB. */
const MAX_BODY_BYTES = 256 * 1024
/** These headers carry the authentication, which the web server has checked. */
const KEPT_BACK: ReadonlySet<string> = new Set(['authorization', 'cookie'])

/** Adds `/mcp` for the database of this process. Its library is loaded at the first request: many daemons never get one. */
export async function registerAssistants(
  server: FastifyInstance,
  { app: { config, log, databaseUrl } }: WebParts,
): Promise<void> {
  const makeReader = (account: string | undefined) => {
    const find = async () => ({ ...loginOptions(config), connectionString: databaseUrl, account })
    return makeGuardedReader({ log, find })
  }
  let made: Promise<HttpServer> | undefined
  const make = () =>
    import('./http.ts').then(({ makeHttpServer }) => makeHttpServer({ log, version: VERSION, makeReader }))
  server.addHook('onClose', async () => (await made)?.close())
  await registerMcp(server, async (...request) => {
    made ??= make()
    return (await made).fetch(...request)
  })
}

/** Adds `/mcp`, the streamable HTTP of the Model Context Protocol. A closed connection cancels its running call. */
export async function registerMcp(server: FastifyInstance, fetch: McpFetch): Promise<void> {
  await server.register(async (scope) => {
    // The protocol has an answer to invalid JSON.
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'string' },
      async (_: FastifyRequest, text: string) => text,
    )
    scope.route({
      method: ['GET', 'POST', 'DELETE'],
      url: '/mcp',
      bodyLimit: MAX_BODY_BYTES,
      config: { forPrograms: true },
      handler: async (request, reply) => {
        const gone = new AbortController()
        reply.raw.once('close', () => gone.abort())
        const text = request.body as string | undefined
        return sendResponse(reply, await fetch(toWebRequest(request), text, gone.signal))
      },
    })
  })
}

function toWebRequest(request: FastifyRequest): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined && !KEPT_BACK.has(name)) headers.set(name, String(value))
  return new Request(new URL(request.url, 'http://localhost'), { method: request.method, headers })
}

function sendResponse(reply: FastifyReply, response: Response): FastifyReply {
  reply.code(response.status)
  for (const [name, value] of response.headers) reply.header(name, value)
  if (!response.body) return reply.send()
  return reply.send(Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]))
}

import { randomUUID } from 'node:crypto'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { errorLine } from '../../kit/errors.ts'
import { type JoinedSignal, joinSignals } from '../../kit/time.ts'
import type { GuardedReader } from './guarded-reader.ts'
import { judgeText, VERSION_WITH_BATCHES } from './judge-message.ts'
import { type McpDeps, makeServerFactory } from './server.ts'

type Handler = ReturnType<typeof createMcpHandler>

/** Maximum number of cached handlers, one for each account; each handler keeps its database login. */
const MAX_HANDLERS = 20
const SESSION = 'mcp-session-id'

/**
 * Makes the streamable HTTP server. The server is stateless: each request gets its own instance, so clients do not notice a restart of the
 * daemon. The server issues a session id only for cancelling: a later `notifications/cancelled` finds its call by the id. With
 * `?account=NAME` in the URL, a request reads only the rows of that account.
 */
export function httpServer(
  { log }: Pick<McpDeps, 'log'>,
  makeReader: (account: string | undefined) => GuardedReader,
) {
  const handlers = new Map<string | undefined, Handler>()
  const running = new Map<string, JoinedSignal>()
  const open = new Set<Request>()

  const handlerFor = (account: string | undefined): Handler => {
    const known = handlers.get(account)
    if (known) return known
    if (handlers.size >= MAX_HANDLERS) handlers.clear()
    const onerror = (error: Error) => log.debug({ reason: errorLine(error) }, 'mcp: a request failed')
    const made = createMcpHandler(makeServerFactory({ log, reader: makeReader(account) }), { onerror })
    handlers.set(account, made)
    return made
  }

  return {
    /** Answers one request, whose body is `text`. `closed` aborts when the connection closes, which cancels the request's calls. */
    async fetch(request: Request, text: string | undefined, closed: AbortSignal): Promise<Response> {
      // Only clients of the version with batches omit the header; later versions require it.
      const judged =
        text === undefined
          ? undefined
          : judgeText(text, request.headers.get('mcp-protocol-version') ?? VERSION_WITH_BATCHES)
      const [refusal] = judged?.refusals ?? []
      if (refusal) return Response.json(refusal, { status: 400 })
      const body = judged?.json
      const session = request.headers.get(SESSION)
      const messages = (Array.isArray(body) ? body : [body]) as Message[]
      const keys = session === null ? [] : messages.flatMap((message) => keyOf(session, message?.id))
      if (session !== null) for (const message of messages) cancel(running, session, message)
      const stop = joinSignals([closed])
      for (const key of keys) running.set(key, stop)
      const stoppable = new Request(request, { signal: stop.signal })
      // Keep the request reachable: if it were garbage-collected, its signal would never abort, although the calls listen to the signal.
      open.add(stoppable)
      closed.addEventListener('abort', () => {
        open.delete(stoppable)
        for (const key of keys) if (running.get(key) === stop) running.delete(key)
      })
      const account = new URL(request.url).searchParams.get('account') ?? undefined
      const response = await handlerFor(account).fetch(stoppable, { parsedBody: body })
      if (messages.some((message) => message?.method === 'initialize')) {
        response.headers.set(SESSION, randomUUID())
      }
      return response
    },
    async close(): Promise<void> {
      for (const stop of running.values()) stop.abort()
      for (const handler of handlers.values()) await handler.close()
    },
  }
}

type Message = { id?: unknown; method?: unknown; params?: { requestId?: unknown } } | null | undefined

function keyOf(session: string, id: unknown): string[] {
  return typeof id === 'string' || typeof id === 'number' ? [`${session} ${typeof id} ${id}`] : []
}

function cancel(running: ReadonlyMap<string, JoinedSignal>, session: string, message: Message): void {
  if (message?.method !== 'notifications/cancelled') return
  for (const key of keyOf(session, message.params?.requestId)) running.get(key)?.abort()
}

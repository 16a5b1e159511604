import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { FastifyAdapter } from '@bull-board/fastify'
import type { FastifyInstance } from 'fastify'
import { contentPolicy } from './security-headers.ts'

/** A queue for the board to show, on either backend. */
export type Board = Readonly<{ name: string }>

const PATH = '/queues'
/** Its scripts come from here; it styles elements in the page, and its base address is /queues/. */
const POLICY = contentPolicy({
  'script-src': ["'self'"],
  'worker-src': ["'self'"],
  'style-src': ["'self'", "'unsafe-inline'"],
  'img-src': ["'self'", 'data:'],
  'font-src': ["'self'"],
  'connect-src': ["'self'"],
  'base-uri': ["'self'"],
  'form-action': ["'self'"],
})
/** The fonts that the page would load from another host; without them it uses the system's. */
const FOREIGN_LINK = /<link\b[^>]*\bhref="https?:[^>]*>/g

/**
 * Adds the board of the queues at `/queues`, below `root` for browsers. It only reads, because a queue that it changes stops for every process: its
 * queues are read-only, and every method but GET and HEAD is refused, since `pause all` answers 200 even then.
 */
export async function registerQueueBoard(
  server: FastifyInstance,
  boards: readonly Board[],
  root: string,
): Promise<void> {
  const serverAdapter = new FastifyAdapter()
  serverAdapter.setBasePath(root + PATH)
  createBullBoard({
    queues: boards.map(makeReadOnly),
    serverAdapter,
    options: { uiConfig: { boardTitle: 'musette queues', hideDocsLink: true } },
  })
  await server.register(
    async (scope) => {
      scope.addHook('onRequest', async (request, reply) => {
        await reply.helmet({ contentSecurityPolicy: POLICY })
        if (request.method === 'GET' || request.method === 'HEAD') return
        await reply
          .code(405)
          .header('allow', 'GET, HEAD')
          .send({ error: 'the board of the queues only reads' })
      })
      scope.addHook('onSend', async (_request, reply, payload) => {
        const isPage = String(reply.getHeader('content-type')).startsWith('text/html')
        return isPage && typeof payload === 'string' ? payload.replaceAll(FOREIGN_LINK, '') : payload
      })
      await scope.register(serverAdapter.registerPlugin())
    },
    { prefix: PATH },
  )
}

/** The adapter's type knows queues on Redis only; at run time it takes both and refuses everything else. */
function makeReadOnly(board: Board): BullMQAdapter {
  return new BullMQAdapter(board as ConstructorParameters<typeof BullMQAdapter>[0], { readOnlyMode: true })
}

import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { FastifyAdapter } from '@bull-board/fastify'
import type { FastifyInstance } from 'fastify'
import { policy } from './access/headers.ts'

/** A queue for the board to show, whatever it stands on; whoever makes queues hands them in. */
export type Board = Readonly<{ name: string }>

const PATH = '/queues'
/** Its scripts come from here; it styles elements in the page, and its base address is /queues/. */
const BOARD_POLICY = {
  'script-src': "'self'",
  'worker-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'font-src': "'self'",
  'connect-src': "'self'",
  'base-uri': "'self'",
  'form-action': "'self'",
}
/** The fonts that the page would load from another host; without them it uses the system's. */
const FOREIGN_LINK = /<link\b[^>]*\bhref="https?:[^>]*>/g

/** Adds the board of the queues at `/queues`. It only shows: what it could change, it could stop for everyone. */
export async function registerQueues(server: FastifyInstance, boards: readonly Board[]): Promise<void> {
  const serverAdapter = new FastifyAdapter()
  serverAdapter.setBasePath(PATH)
  createBullBoard({
    queues: boards.map(adapt),
    serverAdapter,
    options: { uiConfig: { boardTitle: 'musette queues', hideDocsLink: true } },
  })
  await server.register(
    async (scope) => {
      scope.addHook('onRequest', async (_request, reply) => {
        reply.header('content-security-policy', policy(BOARD_POLICY))
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

/** The board's types know queues on Redis only; it works on both, and refuses by itself what is no queue of BullMQ. */
function adapt(board: Board): BullMQAdapter {
  return new BullMQAdapter(board as ConstructorParameters<typeof BullMQAdapter>[0], { readOnlyMode: true })
}

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { sleep } from '../../kit/time.ts'
import { countRequest } from '../state/counts.ts'
import { takeFault } from '../state/faults.ts'
import type { World } from '../state/world.ts'
import { type Reply, ReplyError, refuse } from './reply.ts'
import { makeRequest, type Request } from './request.ts'
import { findRoute, type Route } from './router.ts'
import { sendFaulty, sendReply } from './send.ts'

const STEERING = '/_sandbox/'

/**
 * Makes the HTTP server of a world, not listening yet. Lenient on purpose: no Host header, no time limits of its own.
 * `signal` ends every pause when the sandbox closes.
 */
export function makeServer(
  deps: { world: World; routes: readonly Route[]; origin: () => string },
  signal: AbortSignal,
): Server {
  const answer = async (message: IncomingMessage, response: ServerResponse) => {
    try {
      await answerMessage(deps, message, response, signal)
    } catch {
      response.destroy()
    }
  }
  const server = createServer({ requireHostHeader: false, requestTimeout: 0 }, (message, response) => {
    message.on('error', () => {})
    response.on('error', () => {})
    void answer(message, response)
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  return server
}

async function answerMessage(
  deps: { world: World; routes: readonly Route[]; origin: () => string },
  message: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const { world, routes } = deps
  const { settings } = world
  const request = makeRequest(message, { origin: deps.origin(), bodyTimeoutMs: settings.body_timeout_ms })
  response.sendDate = false
  response.setHeader('date', world.now().toUTCString())
  if (request.path.startsWith(STEERING)) {
    return sendReply(response, await runRoute(world, routes, request))
  }
  const found = findRoute(routes, request)
  countRequest(world.counts, request.method, 'route' in found ? found.route.pattern : '(unknown)')
  if (settings.latency_ms > 0) await sleep(settings.latency_ms, signal)
  const fault = takeFault(world.faults, request, world.random)
  if (!fault) return sendReply(response, await runRoute(world, routes, request))
  world.counts.faults++
  return sendFaulty({ response, signal, work: () => runRoute(world, routes, request) }, fault)
}

async function runRoute(world: World, routes: readonly Route[], request: Request): Promise<Reply> {
  const found = findRoute(routes, request)
  if ('allowed' in found) {
    if (found.allowed.length === 0) return refuse(404, 'no such address')
    return refuse(405, 'wrong method', { allow: found.allowed.join(', ') })
  }
  try {
    return await found.route.answer(world, request, found.params)
  } catch (error) {
    if (error instanceof ReplyError) return error.reply
    return refuse(500, error instanceof Error ? (error.stack ?? error.message) : String(error))
  }
}

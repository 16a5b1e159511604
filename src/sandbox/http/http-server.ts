import type { IncomingMessage, ServerResponse } from 'node:http'
import { sleep } from '../../kit/time.ts'
import type { Rider } from '../rider.ts'
import type { World } from '../world.ts'
import { sendFaulty, sendReply, useFault } from './faults.ts'
import { type Reply, ReplyError, refuse } from './reply.ts'
import { makeRequest, type Request } from './request.ts'
import { checkRequest, deviate } from './strict.ts'

const STEERING = '/_sandbox/'

/** Answers a request by its route, or with a planned failure. `signal` ends every pause when the sandbox closes. */
export async function answerMessage(
  { world, routes }: { world: World; routes: readonly Route[] },
  message: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const { settings } = world
  const request = makeRequest(message)
  response.sendDate = false
  response.setHeader('date', world.now().toUTCString())
  const found = findRoute(routes, request)
  const work = () => runRoute(world, found, request)
  if (request.path.startsWith(STEERING)) return sendReply(response, await work())
  const counted = `${request.method} ${'route' in found ? found.route.pattern : '(unknown)'}`
  world.counts.requests[counted] = (world.counts.requests[counted] ?? 0) + 1
  if (settings.latency_ms > 0) await sleep(settings.latency_ms, signal)
  const fault = useFault(world.faults, request, world.random)
  if (!fault) return sendReply(response, await work())
  world.counts.faults++
  return sendFaulty({ response, signal, work }, fault)
}

async function runRoute(world: World, found: ReturnType<typeof findRoute>, request: Request) {
  if ('allowed' in found) {
    if (!request.path.startsWith(STEERING))
      deviate(world, request.method, 'an address or method without an endpoint')
    if (found.allowed.length === 0) return refuse(404, 'no such address')
    return refuse(405, 'wrong method', { allow: found.allowed.join(', ') })
  }
  try {
    const { method, pattern, answer } = found.route
    if (!pattern.startsWith(STEERING)) checkRequest(world, `${method} ${pattern}`, request)
    return await answer(world, request, found.params)
  } catch (error) {
    if (error instanceof ReplyError) return error.reply
    return refuse(500, error instanceof Error ? (error.stack ?? error.message) : String(error))
  }
}

/** The parts of the path that a pattern names, percent-decoded. */
export type Params = Readonly<Record<string, string>>

/** A row of the route table; `:name` in the pattern stands for one part of the path. */
export type Route = {
  method: string
  pattern: string
  answer: (world: World, request: Request, params: Params) => Promise<Reply> | Reply
  /** what the route does, for the table of the steering routes */
  about?: string
}

/** The answer of an endpoint that needs a rider's token. */
export type RiderAnswer = (
  deps: { world: World; rider: Rider },
  request: Request,
  params: Params,
) => Promise<Reply> | Reply

/** Finds the route of a request; `allowed` lists the methods of a known path if the method is wrong. */
function findRoute(routes: readonly Route[], request: { method: string; path: string }) {
  const allowed: string[] = []
  for (const route of routes) {
    const params = matchPath(route.pattern, request.path)
    if (!params) continue
    if (route.method === request.method) return { route, params }
    allowed.push(route.method)
  }
  return { allowed }
}

function matchPath(pattern: string, path: string): Params | undefined {
  const found = new RegExp(`^${pattern.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`).exec(path)
  const parts = Object.entries(found?.groups ?? {})
  return found ? Object.fromEntries(parts.map(([name, value]) => [name, percentDecode(value)])) : undefined
}

/** Decodes percent escapes. Returns a string with an invalid escape unchanged. */
export function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

import type { ServerResponse } from 'node:http'
import { z } from 'zod'
import { sleep } from '../../kit/time.ts'
import type { Random } from '../athlete/random.ts'
import { html, makeReply, type Reply, SIGN_IN_PAGE } from './reply.ts'

/** A planned failure (POST /_sandbox/faults); `path` is a regular expression for the path without the query. */
export const faultSchema = z.strictObject({
  method: z.string().optional(),
  path: z
    .string()
    .refine((text) => compile(text) !== undefined, 'not a regular expression')
    .optional(),
  kind: z.enum(['reset', 'status', 'cut', 'html', 'stall', 'empty', 'lost-answer', 'slow']),
  status: z.number().int().min(200).max(599).optional(),
  retry_after: z.union([z.string(), z.number()]).optional(),
  body: z.unknown().optional(),
  times: z.union([z.number().int().positive(), z.literal('always')]).default(1),
  probability: z.number().min(0).max(1).default(1),
  /** how long `slow` takes for the whole body, ms */
  duration_ms: z.number().int().positive().default(2_000),
})

export type Fault = z.infer<typeof faultSchema> & { id: number; hits: number }

/** Finds the first planned failure that matches a request, and counts the hit. */
export function useFault(faults: Fault[], request: { method: string; path: string }, random: Random) {
  for (const fault of faults) {
    if (fault.times !== 'always' && fault.hits >= fault.times) continue
    if (fault.method && fault.method.toUpperCase() !== request.method) continue
    if (fault.path && !compile(fault.path)?.test(request.path)) continue
    if (fault.probability < 1 && random() >= fault.probability) continue
    fault.hits++
    return fault
  }
  return undefined
}

function compile(text: string): RegExp | undefined {
  try {
    return new RegExp(text)
  } catch {
    return undefined
  }
}

/** Sends a whole answer. Ends the connection only after the request is read, because a client that is still writing would lose the answer. */
export function sendReply(response: ServerResponse, reply: Reply): void {
  const { req } = response
  writeHead(response, reply)
  if (req.complete || reply.status === 408) return void response.end(reply.body)
  response.flushHeaders()
  response.write(reply.body)
  req.once('close', () => response.end()).resume()
}

/** Fails as planned. `reset`, `status`, `html`, `empty` and `stall` skip the endpoint's work; `cut`, `slow` and `lost-answer` fail after this work. */
export async function sendFaulty(
  deps: { response: ServerResponse; signal: AbortSignal; work: () => Promise<Reply> },
  fault: Fault,
): Promise<void> {
  const { response } = deps
  switch (fault.kind) {
    case 'reset':
      return reset(response)
    case 'stall':
      response.req.resume()
      return
    case 'status':
      return sendReply(response, statusReply(fault))
    case 'html':
      return sendReply(response, html(200, typeof fault.body === 'string' ? fault.body : SIGN_IN_PAGE))
    case 'empty':
      return sendReply(response, makeReply(200, 'application/json', ''))
    case 'lost-answer':
      await deps.work()
      return reset(response)
    case 'cut':
      return cut(response, await deps.work())
    case 'slow':
      return trickle(deps, await deps.work(), fault.duration_ms)
  }
}

/** Announces the whole length, sends half of the answer, then closes the connection. */
function cut(response: ServerResponse, reply: Reply): void {
  writeHead(response, reply)
  const half = reply.body.subarray(0, Math.floor(reply.body.length / 2))
  if (half.length === 0) response.flushHeaders()
  response.write(half, () => response.destroy())
}

/** The number of parts in which a slow answer is sent. */
const TRICKLES = 20

async function trickle(
  deps: { response: ServerResponse; signal: AbortSignal },
  reply: Reply,
  durationMs: number,
): Promise<void> {
  writeHead(deps.response, reply)
  deps.response.flushHeaders()
  const size = Math.max(1, Math.ceil(reply.body.length / TRICKLES))
  for (let from = 0; from < reply.body.length; from += size) {
    await sleep(durationMs / TRICKLES, deps.signal)
    if (deps.response.destroyed) return
    deps.response.write(reply.body.subarray(from, from + size))
  }
  deps.response.end()
}

function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy()
}

function statusReply(fault: Fault): Reply {
  const headers = fault.retry_after === undefined ? {} : { 'retry-after': String(fault.retry_after) }
  const status = fault.status ?? 500
  if (typeof fault.body === 'string')
    return makeReply(status, 'text/plain; charset=utf-8', fault.body, headers)
  const body = fault.body === undefined ? { success: false, error: 'planned failure' } : fault.body
  return makeReply(status, 'application/json', JSON.stringify(body), headers)
}

function writeHead(response: ServerResponse, reply: Reply): void {
  response.writeHead(reply.status, { ...reply.headers, 'content-length': reply.body.length })
}

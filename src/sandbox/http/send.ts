import type { ServerResponse } from 'node:http'
import { sleep } from '../../kit/time.ts'
import type { Fault } from '../state/faults.ts'
import { html, type Reply, text } from './reply.ts'

/** Sends an answer whole. */
export function sendReply(response: ServerResponse, reply: Reply): void {
  writeHead(response, reply)
  response.end(reply.body)
  if (!response.req.complete) response.req.resume()
}

/**
 * Fails as planned. `reset`, `status`, `html`, `empty` and `stall` do none of the work; `cut`, `slow` and
 * `lost-answer` do all of it first.
 */
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
      return sendReply(response, text(200, 'application/json', ''))
    case 'lost-answer':
      await deps.work()
      return reset(response)
    case 'cut':
      return cut(response, await deps.work())
    case 'slow':
      return trickle(deps, await deps.work(), fault.duration_ms)
  }
}

/** Sends half of an answer that announced the whole, then drops the line. */
export function cut(response: ServerResponse, reply: Reply): void {
  writeHead(response, reply)
  const half = reply.body.subarray(0, Math.floor(reply.body.length / 2))
  if (half.length === 0) response.flushHeaders()
  response.write(half, () => response.destroy())
}

/** What an expired web session answers: a page, with status 200. */
export const SIGN_IN_PAGE =
  '<!doctype html><html><head><title>Sign in</title></head><body>Please sign in.</body></html>'

/** Parts in which a slow answer comes. */
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
  if (typeof fault.body === 'string') return text(status, 'text/plain; charset=utf-8', fault.body, headers)
  const body = fault.body === undefined ? { success: false, error: 'planned failure' } : fault.body
  return text(status, 'application/json', JSON.stringify(body), headers)
}

function writeHead(response: ServerResponse, reply: Reply): void {
  response.writeHead(reply.status, { ...reply.headers, 'content-length': reply.body.length })
}

import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** How long an answer is shared, so that several open pages cost the database as much as one. */
export const KEEP_MS = 1_000

const compress = promisify(gzip)
/** Shorter answers are not compressed. */
const MIN_COMPRESSED = 1_000
/** The default level 6 takes three times as long and saves a tenth. */
const LEVEL = 3

/** Sends a view as JSON with its ETag, gzipped if accepted: 304 when the browser has it, 404 when there is none. */
export async function sendView(request: FastifyRequest, reply: FastifyReply, view: object | undefined) {
  if (view === undefined) return reply.code(404).send({ error: 'not found in the mirror' })
  const body = JSON.stringify(view)
  // Weak, because it is the same with and without compression.
  const etag = `W/"${createHash('sha256').update(body).digest('base64url')}"`
  reply.header('etag', etag).header('vary', 'accept-encoding')
  if (request.headers['if-none-match'] === etag) return reply.code(304).send()
  reply.type('application/json; charset=utf-8')
  if (body.length < MIN_COMPRESSED || !takesGzip(request)) return reply.send(body)
  return reply.header('content-encoding', 'gzip').send(await compress(body, { level: LEVEL }))
}

function takesGzip({ headers }: FastifyRequest): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(String(headers['accept-encoding'] ?? ''))
}

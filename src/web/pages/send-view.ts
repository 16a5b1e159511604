import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** A page that asks every few seconds gets an answer of that age, so that several open pages cost the database as much as one. */
export const KEEP_MS = 1_000
/** A key of a row in a query or a path: the largest is that of Postgres's integer. */
export const KEY = { type: 'integer', minimum: 1, maximum: 2_147_483_647 } as const

/** Sends a view as JSON with its ETag: 304 when the browser has it, 404 when there is none. */
export async function sendView(request: FastifyRequest, reply: FastifyReply, view: object | undefined) {
  if (view === undefined) return reply.code(404).send({ error: 'there is no such thing in the mirror' })
  const body = JSON.stringify(view)
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`
  reply.header('etag', etag)
  if (request.headers['if-none-match'] === etag) return reply.code(304).send()
  return reply.type('application/json; charset=utf-8').send(body)
}

import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'

/** How long a response is cached, ms, so that several open pages cause no more database queries than one page. */
export const KEEP_MS = 1_000

const compress = promisify(gzip)
/** Minimum length of a response to compress, bytes. */
const MIN_COMPRESSED = 1_000
/** gzip level. The default, 6, takes three times as long and makes the response only a tenth smaller. */
const LEVEL = 3
const TAKES_GZIP = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/

type Schemas = Readonly<
  Record<string, Readonly<{ type?: string; enum?: readonly unknown[]; default?: unknown }>>
>
type Value<S> = S extends { enum: ReadonlyArray<infer One> }
  ? One
  : S extends { type: 'integer' }
    ? number
    : string
type Defaulted<S extends Schemas> = { [K in keyof S]: S[K] extends { default: unknown } ? K : never }[keyof S]
/** The values that the JSON schemas of a query allow; a value without a default may be missing. */
export type Query<S extends Schemas> = { [K in Defaulted<S>]: Value<S[K]> } & {
  [K in Exclude<keyof S, Defaulted<S>>]?: Value<S[K]> | undefined
}
type Given<P extends Schemas, Q extends Schemas> = { [K in keyof P]: Value<P[K]> } & Query<Q>
type Shape<P, Q> = { params?: P; query?: Q; minProperties?: number; maxProperties?: number }

/**
 * Adds a read-only route that sends what `find` returns for the parameters in path and query: JSON with an ETag, gzipped if accepted; 304 if
 * the browser already has it, 404 if `find` returns undefined.
 */
export function addView<
  const P extends Schemas = Record<never, never>,
  const Q extends Schemas = Record<never, never>,
>(
  scope: FastifyInstance,
  path: string,
  { params, query, ...rules }: Shape<P, Q>,
  find: (given: Given<P, Q>, headers: IncomingHttpHeaders) => Promise<object | undefined>,
): void {
  const schema = {
    params: { type: 'object', properties: params ?? {}, required: Object.keys(params ?? {}) },
    querystring: { type: 'object', properties: query ?? {}, ...rules },
  }
  scope.get(path, { schema }, async (request, reply) => {
    const { headers } = request
    const view = await find(Object.assign({}, request.params, request.query) as Given<P, Q>, headers)
    if (view === undefined) return reply.code(404).send({ error: 'not found in the mirror' })
    const body = JSON.stringify(view)
    // A weak ETag, because compressed and plain responses share it.
    const etag = `W/"${createHash('sha256').update(body).digest('base64url')}"`
    reply.header('etag', etag).header('vary', 'accept-encoding')
    if (headers['if-none-match'] === etag) return reply.code(304).send()
    reply.type('application/json; charset=utf-8')
    if (body.length < MIN_COMPRESSED || !TAKES_GZIP.test(String(headers['accept-encoding'] ?? '')))
      return reply.send(body)
    return reply.header('content-encoding', 'gzip').send(await compress(body, { level: LEVEL }))
  })
}

import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { z } from 'zod'
import { parseIfJson } from '../../kit/json.ts'
import { SECOND, within } from '../../kit/time.ts'
import { ReplyError, refuse } from './reply.ts'

/** A request as the endpoints see it. `path` and `rawQuery` are still percent-encoded. */
export type Request = ReturnType<typeof makeRequest>

/** The largest upload, bytes; a day of riding recorded every second is about 5 MB. */
const MAX_BODY_BYTES = 64 * 1024 * 1024
/** How long a request's body may take, ms. */
const BODY_WITHIN_MS = 30 * SECOND

export function makeRequest(message: IncomingMessage) {
  const target = (message.url ?? '/').replace(/^https?:\/\/[^/?#]*/i, '') || '/'
  const mark = target.indexOf('?')
  const rawQuery = mark < 0 ? '' : target.slice(mark + 1)
  const host = message.headers.host
  return {
    method: message.method ?? 'GET',
    path: mark < 0 ? target : target.slice(0, mark),
    rawQuery,
    query: parseForm(rawQuery),
    message,
    /** the scheme and host that the client used, for addresses in answers */
    origin:
      host && /^[\w.:[\]-]+$/.test(host) ? `http://${host}` : `http://127.0.0.1:${message.socket.localPort}`,
  }
}

/** Reads the whole body. Throws a ReplyError with 408 if the body is late, 413 if it is too large. */
export async function readBody({ message }: Request): Promise<Buffer> {
  const reading = buffer(message)
  const refuseBody = (status: number, why: string) =>
    new ReplyError(refuse(status, why, { connection: 'close' }))
  const isHere = await within(reading, BODY_WITHIN_MS).catch(() => {
    throw refuseBody(400, 'the body broke off')
  })
  if (!isHere) throw refuseBody(408, 'the body did not arrive')
  const body = await reading
  if (body.length > MAX_BODY_BYTES) throw refuseBody(413, 'the body is too large')
  return body
}

/** Reads a form body; a charset after the content type is ignored. */
export async function readForm(request: Request): Promise<URLSearchParams> {
  return parseForm((await readBody(request)).toString('utf8'))
}

/** Parses a form: `+` and `%20` are spaces; a percent sign that does not begin a byte stays a percent sign. */
export function parseForm(body: string): URLSearchParams {
  return new URLSearchParams(body.replace(/\r?\n$/, ''))
}

/** Reads a JSON body and checks it with a schema; an empty body counts as `{}`. Otherwise throws a ReplyError with 400 that names every wrong field. */
export async function readChecked<Schema extends z.ZodType>(request: Request, schema: Schema) {
  const json = parseIfJson((await readBody(request)).toString('utf8').trim() || '{}')
  if (json === undefined) throw new ReplyError(refuse(400, 'the body is not JSON'))
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`)
  throw new ReplyError(refuse(400, problems.join('; ')))
}

/** A parsed multipart form: the file, if there is one, and the names and values of the other parts. */
type UploadForm = { file: File | undefined; fields: Map<string, string> }

/** Reads a multipart form (POST /oauth/upload). The part named `file` is the file, whatever its type and position. Any other body gets 400. */
export async function readUploadForm(request: Request): Promise<UploadForm> {
  const type = request.message.headers['content-type'] ?? ''
  const body = await readBody(request)
  if (!/^multipart\/form-data\b/i.test(type))
    throw new ReplyError(refuse(400, 'expected multipart/form-data'))
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } })
    .formData()
    .catch(() => {
      throw new ReplyError(refuse(400, 'the multipart form is damaged'))
    })
  const file = form.get('file')
  const fields = [...form].filter((part): part is [string, string] => typeof part[1] === 'string')
  return { file: file instanceof File ? file : undefined, fields: new Map(fields) }
}

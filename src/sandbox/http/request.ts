import type { IncomingMessage } from 'node:http'
import { Busboy } from '@fastify/busboy'
import type { z } from 'zod'
import { parseIfJson } from '../../kit/json.ts'
import { ReplyError, refuse } from './reply.ts'

/** A request as the endpoints see it. `path` and `rawQuery` are still percent-encoded. */
export type Request = ReturnType<typeof makeRequest>

/** The largest upload; a day of riding recorded each second is some 5 MB. */
const MAX_BODY_BYTES = 64 * 1024 * 1024

/** Makes a request from a message, in origin or absolute form. */
export function makeRequest(message: IncomingMessage, bodyTimeoutMs: number) {
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
    /** The scheme and host the client used, for addresses in answers. */
    origin:
      host && /^[\w.:[\]-]+$/.test(host) ? `http://${host}` : `http://127.0.0.1:${message.socket.localPort}`,
    bodyTimeoutMs,
  }
}

/** Reads the whole body; a late one answers 408, a too large one 413. */
export function readBody(request: Request): Promise<Buffer> {
  const { message } = request
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const settle = (end: () => void) => {
      clearTimeout(timer)
      message.off('data', take).resume()
      end()
    }
    const refuseBody = (status: number, why: string) =>
      settle(() => reject(new ReplyError(refuse(status, why, { connection: 'close' }))))
    const take = (chunk: Buffer) => {
      bytes += chunk.length
      chunks.push(chunk)
      if (bytes > MAX_BODY_BYTES) refuseBody(413, 'the body is too large')
    }
    const timer = setTimeout(() => refuseBody(408, 'the body did not arrive'), request.bodyTimeoutMs)
    message.on('data', take)
    message.once('end', () => settle(() => resolve(Buffer.concat(chunks))))
    message.once('error', () => refuseBody(400, 'the body broke off'))
    message.once('close', () => refuseBody(400, 'the body broke off'))
  })
}

/** Reads a form body; the charset after the content type does not matter. */
export async function readForm(request: Request): Promise<URLSearchParams> {
  return parseForm((await readBody(request)).toString('utf8'))
}

/** Parses a form: `+` and `%20` are spaces, a percent sign that starts no byte stays a percent sign. */
export function parseForm(body: string): URLSearchParams {
  return new URLSearchParams(body.replace(/\r?\n$/, ''))
}

/** Reads a JSON body that fits a schema, an empty one as `{}`; anything else answers 400 and names every wrong field. */
export async function readChecked<Schema extends z.ZodType>(request: Request, schema: Schema) {
  const json = parseIfJson((await readBody(request)).toString('utf8').trim() || '{}')
  if (json === undefined) throw new ReplyError(refuse(400, 'the body is not JSON'))
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`)
  throw new ReplyError(refuse(400, problems.join('; ')))
}

export type UploadedFile = { fileName: string; type: string; bytes: Buffer }
type UploadForm = { file: UploadedFile | undefined; fields: Map<string, string> }

/**
 * Reads a multipart form (POST /oauth/upload): the part named `file` is the file whatever its type, in any order with
 * the others. Any other body answers 400.
 */
export async function readUploadForm(request: Request): Promise<UploadForm> {
  const contentType = request.message.headers['content-type'] ?? ''
  const body = await readBody(request)
  if (!/^multipart\/form-data\b/i.test(contentType)) {
    throw new ReplyError(refuse(400, 'expected multipart/form-data'))
  }
  return parseUploadForm(contentType, body).catch(() => {
    throw new ReplyError(refuse(400, 'the multipart form is damaged'))
  })
}

function parseUploadForm(contentType: string, body: Buffer): Promise<UploadForm> {
  return new Promise((resolve, reject) => {
    const form: UploadForm = { file: undefined, fields: new Map() }
    const parser = new Busboy({
      headers: { 'content-type': contentType },
      isPartAFile: (name, type, fileName) =>
        name === 'file' || fileName !== undefined || type === 'application/octet-stream',
    })
    parser.on('file', (field, stream, fileName, _encoding, type) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('error', reject)
      stream.on('end', () => {
        if (field !== 'file' || form.file) return
        form.file = { fileName: fileName || 'upload.fit', type, bytes: Buffer.concat(chunks) }
      })
    })
    parser.on('field', (field, value) => form.fields.set(field, value))
    parser.on('error', reject)
    parser.on('finish', () => resolve(form))
    parser.end(body)
  })
}

import { Busboy } from '@fastify/busboy'
import { ReplyError, refuse } from './reply.ts'
import { type Request, readBody } from './request.ts'

export type UploadedFile = { fileName: string; type: string; bytes: Buffer }
export type UploadForm = { file: UploadedFile | undefined; fields: Map<string, string> }

/**
 * Reads a multipart form (POST /oauth/upload): the part named `file` is the file whatever its type, in any order with
 * the others. A body that is no multipart form answers 400.
 */
export async function readUploadForm(request: Request): Promise<UploadForm> {
  const contentType = request.message.headers['content-type'] ?? ''
  const body = await readBody(request)
  if (!/^multipart\/form-data\b/i.test(contentType)) {
    throw new ReplyError(refuse(400, 'expected multipart/form-data'))
  }
  try {
    return await parseUploadForm(contentType, body)
  } catch {
    throw new ReplyError(refuse(400, 'the multipart form is damaged'))
  }
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

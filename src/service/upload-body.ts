import { Blob } from 'node:buffer'
import { FormData, Response } from 'undici'
import type { RequestBody } from './http-message.ts'

/** A FIT file to send, and the activity's name if it is to have one. */
export type UploadFile = {
  fileName: string
  bytes: Uint8Array
  name?: string
  /** called when the connection takes the last bytes of the body: from then on the service may have all of them */
  onSent?: () => void
}

/**
 * Encodes an upload as multipart/form-data: `name`, only when given, then `file` (service document, endpoint 10). The file
 * name is the last segment of a path, with control characters replaced.
 */
export async function encodeUpload({ fileName, bytes, name, onSent }: UploadFile): Promise<RequestBody> {
  const form = new FormData()
  if (name !== undefined) form.append('name', name)
  form.append('file', new Blob([bytes]), plainName(fileName))
  const encoded = new Response(form)
  return {
    contentType: encoded.headers.get('content-type') ?? 'multipart/form-data',
    content: Buffer.from(await encoded.arrayBuffer()),
    ...(onSent && { onSent }),
  }
}

/** FormData escapes quotes and line breaks; other control characters would stay, and a path tells about the machine. */
function plainName(fileName: string): string {
  const last = fileName.split(/[\\/]/).at(-1) ?? ''
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
  return last.replace(/[\u0000-\u001f\u007f]/g, '_') || 'activity.fit'
}

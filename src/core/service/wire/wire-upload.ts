import { Blob } from 'node:buffer'
import { FormData, Response } from 'undici'
import { excessOf, isObject } from '../../../kit/json.ts'
import type { RequestBody } from '../http-message.ts'
import { fitsIdentity, type Parsed, readText } from './lenient.ts'

/** The response to an accepted upload (service document, "Upload response"): the address of the new activity. */
export type WireUpload = { url: string | undefined }

/** Parses a response of endpoint 10. Even if the response is malformed, the file has arrived. */
export function parseUpload(wire: Record<string, unknown>): Parsed<WireUpload> {
  const excess = excessOf(wire)
  if (excess !== undefined) return { ok: false, reason: excess }
  const files = isObject(wire.json) ? wire.json.files : undefined
  const file: unknown = Array.isArray(files) ? files[0] : undefined
  return { ok: true, value: { url: isObject(file) ? readText(file.url) : undefined }, drift: [] }
}

/** Returns the new activity's path: the last part of `json.files[0].url`. Undefined if the path is missing or too long. */
export function parseUploadedPath({ url }: WireUpload): string | undefined {
  const last = url
    ?.replace(/[?#].*$/s, '')
    .split('/')
    .findLast((part) => part !== '')
  if (last === undefined) return undefined
  const path = decode(last)
  return fitsIdentity(path) ? path : undefined
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** A FIT file to send, and the activity's name if the activity should get one. */
export type UploadFile = {
  fileName: string
  bytes: Uint8Array
  name?: string
  /** called when the connection takes the last bytes, because the service may have the whole body after that */
  onSent?: () => void
}

/** Encodes an upload as multipart/form-data (endpoint 10). The file name is the last segment of the path, without control characters. */
export async function encodeUpload({ fileName, bytes, name, onSent }: UploadFile): Promise<RequestBody> {
  const form = new FormData()
  if (name !== undefined) form.append('name', name)
  // An empty file marks the place of the bytes: a form with the bytes would hold them three times.
  form.append('file', new Blob([]), plainName(fileName))
  const encoded = new Response(form)
  const contentType = encoded.headers.get('content-type') ?? ''
  const around = Buffer.from(await encoded.arrayBuffer())
  const boundary = contentType.split('boundary=')[1] ?? ''
  const tail = around.lastIndexOf(`\r\n--${boundary}--`)
  return {
    contentType,
    content: [around.subarray(0, tail), bytes, around.subarray(tail)],
    ...(onSent && { onSent }),
  }
}

/** FormData escapes only quotes and line breaks; a path would reveal names of this machine. */
function plainName(fileName: string): string {
  const last = fileName.split(/[\\/]/).at(-1) ?? ''
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are removed
  return last.replace(/[\u0000-\u001f\u007f]/g, '_') || 'activity.fit'
}

import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { TransientError } from '../kit/errors.ts'
import type { RequestBody } from './message.ts'

/** A file to send; `open` is called anew for each try, and `sizeBytes` must be what it yields. */
export type UploadFile = { fileName: string; sizeBytes: number; open: () => Readable; name?: string }

/**
 * Makes a streamed multipart/form-data body with a length known beforehand: `name`, only when given, then `file`
 * (service document, endpoint 10). The stream fails with TransientError `file_changed` or `file_unreadable` before its
 * last byte, so that the service never takes half a file for a whole one.
 */
export function makeUploadBody(file: UploadFile, what: string): RequestBody {
  const boundary = `musette-${randomBytes(16).toString('hex')}`
  const head = Buffer.from(`${namePart(boundary, file.name)}${filePart(boundary, file.fileName)}`)
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  let sent = false
  const stream = Readable.from(
    (async function* () {
      yield head
      yield* readWhole(file, what)
      sent = true
      yield tail
    })(),
    { objectMode: false },
  )
  return {
    kind: 'stream',
    contentType: `multipart/form-data; boundary=${boundary}`,
    length: head.length + file.sizeBytes + tail.length,
    stream,
    wasSent: () => sent,
  }
}

async function* readWhole(file: UploadFile, what: string): AsyncGenerator<Buffer> {
  let size = 0
  const source = file.open()
  try {
    for await (const chunk of source) {
      const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk)
      size += bytes.length
      if (size > file.sizeBytes) throw changed(what)
      yield bytes
    }
  } catch (cause) {
    if (cause instanceof TransientError) throw cause
    throw new TransientError('file_unreadable', `${what}: the file cannot be read`, { cause })
  } finally {
    source.destroy()
  }
  if (size !== file.sizeBytes) throw changed(what)
}

function changed(what: string): TransientError {
  return new TransientError('file_changed', `${what}: the file changed while it was being sent`)
}

function namePart(boundary: string, name: string | undefined): string {
  if (name === undefined) return ''
  return `--${boundary}\r\nContent-Disposition: form-data; name="name"\r\n\r\n${name}\r\n`
}

function filePart(boundary: string, fileName: string): string {
  const disposition = `Content-Disposition: form-data; name="file"; filename="${escapeFileName(fileName)}"`
  return `--${boundary}\r\n${disposition}\r\nContent-Type: application/octet-stream\r\n\r\n`
}

/** The last segment of a path, without what could end the quoted text or the header line; UTF-8 stays as it is. */
function escapeFileName(fileName: string): string {
  const last = fileName.split(/[\\/]/).at(-1) ?? ''
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
  const safe = last.replace(/[\u0000-\u001f\u007f]/g, '_').replaceAll('"', '%22')
  return safe === '' ? 'activity.fit' : safe
}

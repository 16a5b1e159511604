import type { FastifyReply } from 'fastify'
import { makeFileStem } from '../../kit/folders/file-name.ts'

/** Schema of a row's key in a query or a path, up to Postgres's largest integer. */
export const KEY = { type: 'integer', minimum: 1, maximum: 2_147_483_647 } as const

/** The text, from another person or program, from which the name of a download is made. */
type DownloadName = { name: string | null; fallback: string; format: string }

export function sendFile(
  reply: FastifyReply,
  { content, ...name }: DownloadName & { content: string | Uint8Array },
) {
  return reply
    .header('content-disposition', attachmentOf(name))
    .type('application/octet-stream')
    .send(typeof content === 'string' ? content : Buffer.from(content))
}

/** Makes the content-disposition header for a download with a file name made from a text. */
export function attachmentOf({ name: text, fallback, format }: DownloadName): string {
  const name = `${makeFileStem(text, fallback)}.${format}`
  const ascii = name.replaceAll(/[^\w. -]/g, '_')
  // RFC 8187 allows fewer characters than encodeURIComponent: apostrophe, asterisk and brackets are escaped too.
  const escaped = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${escaped}`
}

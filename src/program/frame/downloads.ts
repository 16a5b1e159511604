import type { FastifyReply } from 'fastify'

/** The key of a row in a query or a path, up to Postgres's largest integer. */
export const KEY = { type: 'integer', minimum: 1, maximum: 2_147_483_647 } as const

export function sendFile(
  reply: FastifyReply,
  { name, content }: { name: string; content: string | Uint8Array },
) {
  return reply
    .header('content-disposition', attachmentOf(name))
    .type('application/octet-stream')
    .send(typeof content === 'string' ? content : Buffer.from(content))
}

/** Makes the header for a download with that name. */
export function attachmentOf(name: string): string {
  const ascii = name.replaceAll(/[^\w. -]/g, '_')
  // RFC 8187 allows fewer characters than an address: apostrophe, asterisk and brackets are escaped too.
  const escaped = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${escaped}`
}

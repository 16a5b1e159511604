import type { Readable } from 'node:stream'

/** A body to send: text, or a stream whose length in bytes is known beforehand. */
export type RequestBody =
  | { kind: 'form'; text: string }
  | { kind: 'stream'; contentType: string; length: number; stream: Readable; wasSent: () => boolean }

export type ServiceRequest = {
  method: 'GET' | 'POST'
  url: URL
  /** endpoint and object for messages, such as `GET activity ab12` */
  what: string
  /** never sent to another origin than the URL's */
  authorization: string | undefined
  body?: RequestBody
  totalMs?: number
}

/** An answer of any status, its body complete and decoded. */
export type RawAnswer = {
  status: number
  headers: Readonly<Record<string, string | undefined>>
  body: Buffer
  requestedAt: Date
  /** the service's own clock, from the Date header */
  serviceTime: Date | undefined
  /** whether the whole request had left when the answer came */
  requestSent: boolean
}

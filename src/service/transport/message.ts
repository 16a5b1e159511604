import type { Readable } from 'node:stream'

/** A body to send: text, or a stream whose length in bytes is known beforehand. */
export type RequestBody =
  | { kind: 'form'; text: string }
  | { kind: 'stream'; contentType: string; length: number; stream: Readable; wasSent: () => boolean }

/** The endpoints as the service document writes them; requests are counted by them, so no object's name stands here. */
export type Endpoint =
  | 'POST /oauth/token'
  | 'GET /oauth/authorize'
  | 'GET /oauth/training_info'
  | 'GET /oauth/workout-download/<workout_id>.<ext>'
  | 'GET /oauth/workout'
  | 'GET /oauth/workouts'
  | 'GET /oauth/workout/<path>'
  | 'GET /oauth/activity/<id>'
  | 'GET /oauth/activity'
  | 'POST /oauth/upload'

export type ServiceRequest = {
  method: 'GET' | 'POST'
  url: URL
  endpoint: Endpoint
  /** endpoint and object for messages, such as `GET activity ab12` */
  what: string
  /** never sent to another origin than the URL's */
  authorization: string | undefined
  body?: RequestBody
  /** `manual`: a redirect is an answer and is not followed */
  redirects?: 'manual'
  totalMs?: number
}

/** An answer of any status, its body complete and decoded. */
export type RawAnswer = {
  status: number
  headers: Readonly<Record<string, string | undefined>>
  body: Buffer
  /** the body as it came, when it came in gzip */
  gzipped?: Buffer | undefined
  requestedAt: Date
  /** the service's own clock, from the Date header */
  serviceTime: Date | undefined
  /** whether the whole request had left when the answer came */
  requestSent: boolean
}

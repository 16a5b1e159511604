import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { makeAnswer, makeDate, startOf } from './answers.ts'
import type { BenchInput } from './rig.ts'

// The service as a process of its own that only sends bytes: every answer with samples is made before it listens, plain and,
// for who accepts it, in gzip. Its argument is a BenchInput as JSON; rides take turns with the `distinct` answers.
const { rides, seconds, distinct = rides, kind = 'full' } = JSON.parse(process.argv[2] ?? '') as BenchInput
/** When each request came, ms since 1970. */
const requests: number[] = []
let version = 0
let answers = prepare()

function prepare(): Array<{ whole: Buffer; gzipped: Buffer; summary: Buffer }> {
  return Array.from({ length: distinct }, (_, ride) => {
    const whole = makeAnswer({ ride, seconds, version, kind })
    const summary = Buffer.concat([whole.subarray(0, whole.indexOf(',"session_data"')), Buffer.from('}')])
    return { whole, gzipped: gzipSync(whole), summary }
  })
}

const entries = Array.from({ length: rides }, (_, ride) => ({
  startS: startOf(ride),
  entry: {
    name: `Ride ${ride}`,
    start_date: makeDate(startOf(ride)),
    description: null,
    path: `ride${ride}`,
    activity_type: 'Cycling',
  },
}))

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://service')
  if (url.pathname === '/_requests') return sendJson(response, requests)
  if (url.pathname === '/_recalculate') {
    version++
    answers = prepare()
    return sendJson(response, {})
  }
  requests.push(Date.now())
  request.resume().on('end', () => answer(url, request, response))
})

function answer(url: URL, request: IncomingMessage, response: ServerResponse): void {
  const ride = /^\/oauth\/activity\/ride(\d+)$/.exec(url.pathname)?.[1]
  const prepared = ride === undefined ? undefined : answers[Number(ride) % distinct]
  if (!prepared) sendJson(response, smallAnswer(url))
  else if (url.searchParams.get('include_session_data') !== '1') send(response, prepared.summary)
  else if (!request.headers['accept-encoding']?.includes('gzip')) send(response, prepared.whole)
  else send(response, prepared.gzipped, { 'content-encoding': 'gzip' })
}

function smallAnswer(url: URL): unknown {
  switch (url.pathname) {
    case '/oauth/token':
      return {
        ...{ access_token: 'access', refresh_token: 'refresh' },
        ...{ expires_in: 604_800, token_type: 'Bearer', scope: 'basic' },
      }
    case '/oauth/activity': {
      const [from, to] = [Number(url.searchParams.get('from')), Number(url.searchParams.get('to'))]
      const activities = entries.filter(({ startS }) => startS >= from && startS <= to)
      return { success: true, activities: activities.map(({ entry }) => entry) }
    }
    case '/oauth/training_info':
      return { success: true, signature: { ftp: 250, ltp: 200, hie: 20, pp: 900 } }
    default:
      return { success: true, workouts: [] }
  }
}

function sendJson(response: ServerResponse, value: unknown): void {
  send(response, Buffer.from(JSON.stringify(value)))
}

function send(response: ServerResponse, body: Buffer, more: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length, ...more })
  response.end(body)
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : ''
  process.stdout.write(`listening http://127.0.0.1:${port}\n`)
})

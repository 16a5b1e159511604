import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerActivity, answerActivityList } from './api/activity-answers.ts'
import { answerTrainingInfo, answerWorkoutDownload } from './api/training-info-answer.ts'
import { answerUpload } from './api/upload-answer.ts'
import { answerDefaultWorkouts, answerOwnWorkouts, answerWorkout } from './api/workout-answers.ts'
import { answerMessage, type RiderAnswer, type Route } from './http/http-server.ts'
import { json, makeReply, ReplyError } from './http/reply.ts'
import type { Request } from './http/request.ts'
import { answerAuthorize, answerAuthorizeForm } from './oauth/authorize.ts'
import { findBearer } from './oauth/grant-book.ts'
import { answerToken } from './oauth/token.ts'
import type { Rider } from './rider.ts'
import { STEERING_ROUTES } from './steer/steering-routes.ts'
import { newWorld, type World, type WorldOptions } from './world.ts'

export type SandboxOptions = WorldOptions & { port?: number }

export type Sandbox = { url: string; port: number; close(): Promise<void> }

/**
 * Starts the stand-in service on 127.0.0.1 (on any free port if `port` is 0): the ten endpoints of the service document, and `/_sandbox/` to
 * steer it. Rejects with the system's error if the port is in use, and with ConfigError `sandbox_home`.
 */
export async function startSandbox({ port = 0, ...options }: SandboxOptions = {}): Promise<Sandbox> {
  const world = newWorld(options)
  const stopping = new AbortController()
  const routes = [...SERVICE_ROUTES, ...STEERING_ROUTES]
  // Lenient on purpose: no required Host header, no time limits from the server.
  const server = createServer({ requireHostHeader: false, requestTimeout: 0 }, (message, response) => {
    message.on('error', () => {})
    response.on('error', () => {})
    void answerMessage({ world, routes }, message, response, stopping.signal).catch(() => response.destroy())
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: found } = server.address() as AddressInfo
  return {
    ...{ url: `http://127.0.0.1:${found}`, port: found },
    async close() {
      stopping.abort()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

/** The endpoints of the service document, in its order; endpoint 2 has a second line for the forms of its pages. */
const SERVICE_ROUTES: readonly Route[] = [
  { method: 'POST', pattern: '/oauth/token', answer: answerToken },
  { method: 'GET', pattern: '/oauth/authorize', answer: answerAuthorize },
  { method: 'POST', pattern: '/oauth/authorize', answer: answerAuthorizeForm },
  { method: 'GET', pattern: '/oauth/training_info', answer: withRider(answerTrainingInfo) },
  { method: 'GET', pattern: '/oauth/workout-download/:file', answer: withRider(answerWorkoutDownload) },
  { method: 'GET', pattern: '/oauth/workout', answer: answerDefaultWorkouts },
  { method: 'GET', pattern: '/oauth/workouts', answer: withRider(answerOwnWorkouts) },
  { method: 'GET', pattern: '/oauth/workout/:path', answer: withRider(answerWorkout) },
  { method: 'GET', pattern: '/oauth/activity/:path', answer: withRider(answerActivity) },
  { method: 'GET', pattern: '/oauth/activity', answer: withRider(answerActivityList) },
  { method: 'POST', pattern: '/oauth/upload', answer: withRider(answerUpload) },
]

/**
 * Wraps an endpoint that needs a bearer token, in the Authorization header (Authentication, 1) or as `access_token` in the query. Answers
 * like the service's library: 401 without a body if there is no token, 401 `invalid_token` if the token is bad.
 */
function withRider(answer: RiderAnswer): Route['answer'] {
  return (world, request, params) => answer({ world, rider: requireRider(world, request) }, request, params)
}

function requireRider(world: World, request: Request): Rider {
  const token = readBearer(request)
  const grant = findBearer(world.grants, token, world.now().getTime())
  const rider = grant && world.riders.get(grant.username)
  if (rider) return rider
  const isExpired = world.grants.access.has(token)
  throw refusal(401, 'invalid_token', `The access token provided ${isExpired ? 'has expired' : 'is invalid'}`)
}

function readBearer(request: Request): string {
  const header = request.message.headers.authorization
  const inQuery = request.query.get('access_token')
  if (header && inQuery !== null) {
    throw refusal(400, 'invalid_request', 'Only one method may be used to authenticate at a time')
  }
  if (!header) {
    if (inQuery !== null) return inQuery
    throw new ReplyError(makeReply(401, 'application/json', '', { 'www-authenticate': CHALLENGE }))
  }
  const token = /^bearer\s+(\S+)\s*$/i.exec(header)?.[1]
  if (token !== undefined) return token
  throw refusal(400, 'invalid_request', 'Malformed auth header')
}

const CHALLENGE = 'Bearer realm="Service"'

function refusal(status: number, error: string, description: string): ReplyError {
  const challenge = `${CHALLENGE}, error="${error}", error_description="${description}"`
  return new ReplyError(
    json(status, { error, error_description: description }, { 'www-authenticate': challenge }),
  )
}

import { json, type Reply, ReplyError, text } from '../http/reply.ts'
import type { Request } from '../http/request.ts'
import type { Params, Route } from '../http/router.ts'
import { findBearer } from '../oauth/grants.ts'
import type { Rider } from '../state/rider.ts'
import type { World } from '../state/world.ts'

type RiderAnswer = (
  deps: { world: World; rider: Rider },
  request: Request,
  params: Params,
) => Promise<Reply> | Reply

/**
 * Wraps an endpoint that needs a bearer token, in the Authorization header (Authentication, 1) or as `access_token` in the
 * query. Answers as the service's library does: 401 without a body when there is none, 401 `invalid_token` for a bad one.
 */
export function withRider(answer: RiderAnswer): Route['answer'] {
  return (world, request, params) => answer({ world, rider: requireRider(world, request) }, request, params)
}

function requireRider(world: World, request: Request): Rider {
  const token = readBearer(request)
  const grant = findBearer(world.grants, token, world.now().getTime())
  const rider = grant && world.riders.get(grant.username)
  if (rider) return rider
  const over = world.grants.access.has(token)
  throw refusal(401, 'invalid_token', `The access token provided ${over ? 'has expired' : 'is invalid'}`)
}

function readBearer(request: Request): string {
  const header = request.message.headers.authorization
  const inQuery = request.query.get('access_token')
  if (header && inQuery !== null) {
    throw refusal(400, 'invalid_request', 'Only one method may be used to authenticate at a time')
  }
  if (!header) {
    if (inQuery !== null) return inQuery
    throw new ReplyError(text(401, 'application/json', '', { 'www-authenticate': CHALLENGE }))
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

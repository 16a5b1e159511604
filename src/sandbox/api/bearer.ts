import { type Reply, ReplyError, refuse } from '../http/reply.ts'
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

/** Wraps an endpoint that needs a bearer token: without a living one it answers 401 (Authentication, 1). */
export function withRider(answer: RiderAnswer): Route['answer'] {
  return (world, request, params) => answer({ world, rider: requireRider(world, request) }, request, params)
}

function requireRider(world: World, request: Request): Rider {
  const bearer = /^bearer +(\S+) *$/i.exec(request.message.headers.authorization ?? '')
  const grant = bearer ? findBearer(world.grants, bearer[1] as string, world.now().getTime()) : undefined
  const rider = grant && world.riders.get(grant.username)
  if (rider) return rider
  const challenge = bearer ? 'Bearer realm="service", error="invalid_token"' : 'Bearer realm="service"'
  throw new ReplyError(refuse(401, 'invalid_token', { 'www-authenticate': challenge }))
}

import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Clock } from '../../kit/clock.ts'
import { makeAttempts } from './attempts.ts'
import { readSessionCookie } from './cookie.ts'
import { isSame } from './is-same.ts'
import { makeSessions, type Sessions } from './sessions.ts'

/** Who asks: somebody with the token or a session of it, nobody known, a wrong token, or a token that comes too soon. */
export type Verdict =
  | { kind: 'admitted' }
  | { kind: 'stranger' }
  | { kind: 'wrong' }
  | { kind: 'early'; waitMs: number }

export type Door = {
  sessions: Sessions
  /** Judges a request by its bearer token, or else by its session cookie. */
  judge(request: FastifyRequest): Verdict
  /** Judges a token however it was given. After a wrong one none is looked at for a moment, right or wrong. */
  judgeToken(given: string, from: { ip: string }): Verdict
}

/** Makes the one place that knows the token. Open sessions are not held up when somebody guesses at tokens. */
export function makeDoor(deps: { log: Logger; now: Clock }, token: string): Door {
  const sessions = makeSessions(deps, token)
  const attempts = makeAttempts(deps)

  const judgeToken: Door['judgeToken'] = (given, { ip }) => {
    const waitMs = attempts.waitMs()
    if (waitMs > 0) return { kind: 'early', waitMs }
    if (isSame(given, token)) return { kind: 'admitted' }
    attempts.recordWrong()
    deps.log.warn({ ip }, 'web: a wrong token was given')
    return { kind: 'wrong' }
  }

  return {
    sessions,
    judgeToken,
    judge(request) {
      const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
      // Node reads a header's bytes as latin1; a token may hold any character.
      if (bearer !== undefined) return judgeToken(Buffer.from(bearer, 'latin1').toString(), request)
      const session = readSessionCookie(request)
      return session !== undefined && sessions.isOpen(session) ? { kind: 'admitted' } : { kind: 'stranger' }
    },
  }
}

import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Clock } from '../../kit/time.ts'
import { makeAttempts } from './attempts.ts'
import { readSessionCookie } from './cookie.ts'
import { isSame } from './is-same.ts'
import { type EndedSessions, makeSessions, type Sessions } from './sessions.ts'

/** Who asks: somebody with the token or a session of it, nobody known, a wrong token, or a wrong one too soon after another. */
export type Verdict =
  | { kind: 'admitted' }
  | { kind: 'stranger' }
  | { kind: 'wrong' }
  | { kind: 'early'; waitMs: number }

export type Door = {
  sessions: Sessions
  /** Judges a request by its bearer token, or else by its session cookie. */
  judge(request: FastifyRequest): Promise<Verdict>
  /** Judges a token however it was given. The right one is always admitted; wrong ones soon after another are `early`. */
  judgeToken(given: string, from: { ip: string }): Verdict
}

/**
 * Makes the one place that knows the token. Somebody who guesses must not lock out who knows it: a token has at least 16
 * characters, so no speed of guessing finds it, and the pause after wrong ones only keeps the log short.
 */
export function makeDoor(deps: { log: Logger; now: Clock; ended: EndedSessions }, token: string): Door {
  const sessions = makeSessions(deps, token)
  const attempts = makeAttempts(deps)

  const judgeToken: Door['judgeToken'] = (given, { ip }) => {
    if (isSame(given, token)) return { kind: 'admitted' }
    const waitMs = attempts.waitMs()
    if (waitMs > 0) return { kind: 'early', waitMs }
    attempts.recordWrong()
    deps.log.warn({ ip }, 'web: a wrong token was given')
    return { kind: 'wrong' }
  }

  return {
    sessions,
    judgeToken,
    async judge(request) {
      const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
      // Node reads a header's bytes as latin1; a token may hold any character.
      if (bearer !== undefined) return judgeToken(Buffer.from(bearer, 'latin1').toString(), request)
      const session = readSessionCookie(request)
      return session !== undefined && (await sessions.isOpen(session))
        ? { kind: 'admitted' }
        : { kind: 'stranger' }
    },
  }
}

import { createHmac, randomBytes, scryptSync } from 'node:crypto'
import { Signer } from '@fastify/cookie'
import type { Logger } from 'pino'
import { errorLine } from '../../kit/errors.ts'
import { type Clock, DAY, SECOND } from '../../kit/time.ts'

/** Lifetime of a session, ms: a month, so that nobody signs in every week, and the cookie of a lost phone still expires soon. */
const LIFE_MS = 30 * DAY

/** Stores the sessions that were signed out, so that a restart does not reopen them. */
export type EndedSessions = {
  /** Finds the ids of sessions that any process ended early; the answer may be seconds old. */
  find(): Promise<ReadonlySet<string>>
  record(session: { id: string; endsAt: Date }): Promise<void>
}

/**
 * Makes the browser sessions of one token. A session is its end time and a random id, signed with a key derived from the token, so it
 * survives a restart, and only signed-out sessions are stored. The key derivation is slow, so that a stolen cookie does not help to guess
 * the token. If `ended` cannot be read, the last known ended sessions count, and the sessions that this process ended.
 */
export function makeSessions(deps: { log: Logger; now: Clock; ended: EndedSessions }, token: string) {
  const secret = scryptSync(token, 'musette browser session', 32)
  const signer = new Signer(secret)
  let stored: ReadonlySet<string> = new Set()
  const endedHere = new Map<string, number>()

  const findOpen = async (value: string) => {
    const [end, id] = signer.unsign(value).value?.split('.') ?? []
    const endsMs = Number(end)
    if (id === undefined || endsMs <= deps.now().getTime() || endedHere.has(id)) return undefined
    stored = await deps.ended.find().catch(() => stored)
    return stored.has(id) ? undefined : { id, endsMs }
  }

  return {
    /** Begins a session; `value` is for a cookie and does not contain the token. */
    begin() {
      const session = `${deps.now().getTime() + LIFE_MS}.${randomBytes(16).toString('hex')}`
      return { value: signer.sign(session), maxAgeS: LIFE_MS / SECOND }
    },
    /** Makes a session's key, which cannot be computed from its value. */
    keyOf: (value: string) => createHmac('sha256', secret).update(`key of ${value}`).digest('base64url'),
    isOpen: async (value: string) => (await findOpen(value)) !== undefined,
    /** Ends a session early and permanently; a new token ends all sessions. */
    async end(value: string) {
      const session = await findOpen(value)
      if (!session) return
      const now = deps.now().getTime()
      for (const [id, endsMs] of endedHere) if (endsMs <= now) endedHere.delete(id)
      endedHere.set(session.id, session.endsMs)
      await deps.ended
        .record({ id: session.id, endsAt: new Date(session.endsMs) })
        .catch((error) =>
          deps.log.warn(
            { reason: errorLine(error) },
            'web: a sign-out could not be stored and is forgotten when this process ends; set another MUSETTE_HTTP_TOKEN to end every session',
          ),
        )
    },
  }
}

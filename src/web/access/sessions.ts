import { createHmac, randomBytes, scryptSync } from 'node:crypto'
import type { Logger } from 'pino'
import { errorLine } from '../../kit/errors.ts'
import { type Clock, DAY, SECOND } from '../../kit/time.ts'
import { isSame } from './is-same.ts'

/** A month: long enough not to be asked every week, short enough that a lost phone's cookie ends by itself. */
const LIFE_MS = 30 * DAY

/** Where sessions that were signed out are remembered, so that a restart does not open them again. */
export type EndedSessions = {
  /** The ids of the sessions signed out before their time; by any process, within some seconds. */
  find(): Promise<ReadonlySet<string>>
  record(session: { id: string; endsAt: Date }): Promise<void>
}

export type Sessions = {
  /** Begins a session; the value is for a cookie and tells nothing of the token. */
  begin(): { value: string; maxAgeS: number }
  isOpen(value: string): Promise<boolean>
  /** Ends a session before its time, for good; a new token ends all of them. */
  end(value: string): Promise<void>
}

/**
 * Makes the browser sessions of one token. A session is its end and a random id, signed with a key derived from the
 * token: it outlives a restart, and only a session that was signed out is stored. The derivation is slow, so that a
 * cookie is no help in guessing. While `ended` cannot be read, what this process knows decides.
 */
export function makeSessions(
  deps: { log: Logger; now: Clock; ended: EndedSessions },
  token: string,
): Sessions {
  const key = scryptSync(token, 'musette browser session', 32)
  const sign = (text: string) => createHmac('sha256', key).update(text).digest('hex')
  let stored: ReadonlySet<string> = new Set()
  const endedHere = new Map<string, number>()
  const endOf = (value: string) => Number(value.split('.', 1)[0])
  const idOf = (value: string) => value.split('.', 2)[1] ?? ''

  const isOpen = async (value: string): Promise<boolean> => {
    const cut = value.lastIndexOf('.')
    const genuine = isSame(value.slice(cut + 1), sign(value.slice(0, Math.max(0, cut))))
    if (!genuine || endOf(value) <= deps.now().getTime() || endedHere.has(idOf(value))) return false
    stored = await deps.ended.find().catch(() => stored)
    return !stored.has(idOf(value))
  }

  return {
    begin() {
      const told = `${deps.now().getTime() + LIFE_MS}.${randomBytes(16).toString('hex')}`
      return { value: `${told}.${sign(told)}`, maxAgeS: LIFE_MS / SECOND }
    },
    isOpen,
    async end(value) {
      // Only genuine ones are remembered, and only for as long as they would have lasted.
      if (!(await isOpen(value))) return
      const now = deps.now().getTime()
      for (const [known, end] of endedHere) if (end <= now) endedHere.delete(known)
      endedHere.set(idOf(value), endOf(value))
      try {
        await deps.ended.record({ id: idOf(value), endsAt: new Date(endOf(value)) })
      } catch (error) {
        deps.log.warn(
          { reason: errorLine(error) },
          'web: a sign-out could not be stored and ends with this process; set another MUSETTE_HTTP_TOKEN to end every session',
        )
      }
    },
  }
}

import { createHmac, randomBytes, scryptSync } from 'node:crypto'
import type { Clock } from '../../kit/clock.ts'
import { DAY, SECOND } from '../../kit/durations.ts'
import { isSame } from './is-same.ts'

/** A month: long enough not to be asked every week, short enough that a lost phone's cookie ends by itself. */
const LIFE_MS = 30 * DAY

export type Sessions = {
  /** Begins a session; the value is for a cookie and tells nothing of the token. */
  begin(): { value: string; maxAgeS: number }
  isOpen(value: string): boolean
  /** Ends a session before its time, in this process; a new token ends all of them everywhere. */
  end(value: string): void
}

/**
 * Makes the browser sessions of one token. A session is its end and a random number, signed with a key derived from the
 * token: it outlives a restart and is kept nowhere. The derivation is slow, so that a cookie is no help in guessing.
 */
export function makeSessions(deps: { now: Clock }, token: string): Sessions {
  const key = scryptSync(token, 'musette browser session', 32)
  const sign = (text: string) => createHmac('sha256', key).update(text).digest('hex')
  const ended = new Map<string, number>()
  const endOf = (value: string) => Number(value.split('.', 1)[0])

  const isOpen = (value: string): boolean => {
    const cut = value.lastIndexOf('.')
    const genuine = isSame(value.slice(cut + 1), sign(value.slice(0, Math.max(0, cut))))
    return genuine && endOf(value) > deps.now().getTime() && !ended.has(value)
  }

  return {
    begin() {
      const told = `${deps.now().getTime() + LIFE_MS}.${randomBytes(16).toString('hex')}`
      return { value: `${told}.${sign(told)}`, maxAgeS: LIFE_MS / SECOND }
    },
    isOpen,
    end(value) {
      // Only genuine ones are remembered, and only for as long as they would have lasted.
      if (!isOpen(value)) return
      const now = deps.now().getTime()
      for (const [known, end] of ended) if (end <= now) ended.delete(known)
      ended.set(value, endOf(value))
    },
  }
}

import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Backoff, backoffMs } from '../kit/backoff.ts'
import { SECOND } from '../kit/durations.ts'
import { errorCode, errorLine } from '../kit/errors.ts'
import { type OwnedServer, openOwnedServer } from './owner.ts'
import { acquireOwnership, isOwned } from './ownership.ts'

export type JoinedServer = { isOwner(): boolean; close(): Promise<void> }

/** How long the database may be gone after its owner ended; a look costs three small reads. */
const LOOK_EVERY_MS = SECOND
const TAKE_OVER: Backoff = { firstMs: SECOND, maxMs: 30 * SECOND, factor: 2 }

/**
 * Stays beside a server that another process owns. When that process ends, this one takes the server over, on the same
 * port, so that a daemon which found the database run by a short command does not lose it with the command.
 */
export function joinServer(deps: { log: Logger }, input: { dataDir: string; port: number }): JoinedServer {
  const leaving = new AbortController()
  let owner: OwnedServer | undefined

  async function takeOver(): Promise<void> {
    const ownership = await acquireOwnership(input.dataDir)
    if (!ownership) return
    deps.log.info('taking over the embedded Postgres')
    owner = await openOwnedServer({ ...deps, ownership, signal: leaving.signal }, input)
  }

  async function follow(): Promise<void> {
    for (let failures = 0; !owner; ) {
      const pauseMs = failures === 0 ? LOOK_EVERY_MS : backoffMs(TAKE_OVER, failures)
      // Not a reason to keep the process alive.
      await delay(pauseMs, undefined, { ref: false, signal: leaving.signal }).catch(() => undefined)
      if (leaving.signal.aborted) return
      try {
        if (!(await isOwned(input.dataDir))) await takeOver()
        failures = 0
      } catch (error) {
        if (leaving.signal.aborted) return
        failures += 1
        deps.log.error(
          { code: errorCode(error), reason: errorLine(error) },
          'cannot take over the embedded Postgres',
        )
      }
    }
  }

  const following = follow()
  return {
    isOwner: () => owner !== undefined,
    async close() {
      leaving.abort()
      await following
      await owner?.close()
    },
  }
}

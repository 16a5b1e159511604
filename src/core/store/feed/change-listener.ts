import type { Logger } from 'pino'
import { errorLine } from '../../../kit/errors.ts'
import { PostgresClient } from '../../../kit/postgres-client.ts'
import { type JoinedSignal, joinSignals, MINUTE, SECOND, sleep } from '../../../kit/time.ts'

/** Pauses before the next attempt to connect, and before reconnecting after a lost connection, ms. */
const [CONNECT_AGAIN_MS, LOST_MS] = [MINUTE, SECOND]

/**
 * Opens a connection that listens on a channel: `musette_changes` for the change feed, `musette_accounts` for accounts that are added, removed
 * or signed in. If the listener cannot connect, or if a pooler drops notifications, `wait` takes its full time. A lost connection ends a wait
 * after a second and is reopened.
 */
export function openChangeListener(
  deps: { log: Logger },
  options: { connectionString: string; channel: 'musette_changes' | 'musette_accounts'; silentMs?: number },
) {
  let waiting: JoinedSignal | undefined
  let heard = false
  let client: PostgresClient | undefined
  let connectAt = 0

  /** Ends the current wait or the next wait, as a change does. */
  const wake = () => {
    heard = true
    waiting?.abort()
  }
  const connect = async (): Promise<void> => {
    if (client || performance.now() < connectAt) return
    connectAt = performance.now() + CONNECT_AGAIN_MS
    const made = new PostgresClient({
      connectionString: options.connectionString,
      application_name: options.channel.replace('_', ' '),
      silentMs: options.silentMs,
    })
    const lose = (reason: unknown) => {
      if (client === made) {
        client = undefined
        // By then the reader's pool has noticed which of its own connections are lost.
        setTimeout(() => {
          connectAt = 0
          wake()
        }, LOST_MS).unref()
      }
      deps.log.debug({ reason: errorLine(reason) }, 'lost the connection that listens for changes')
      made.end().catch(() => undefined)
    }
    made.on('error', lose)
    made.on('end', () => lose(new Error('the server closed it')))
    made.on('notification', wake)
    try {
      await made.connect()
      await made.query(`LISTEN ${options.channel}`)
      client = made
      // The reader must look once for changes that were committed before.
      heard = true
    } catch (error) {
      lose(error)
    }
  }
  return {
    /** Resolves once changes have been committed since the last call, after `ms`, or when the signal aborts. Never throws. */
    async wait(ms: number, signal: AbortSignal): Promise<void> {
      await connect()
      if (!heard) {
        waiting = joinSignals([signal])
        await sleep(ms, waiting.signal).catch(() => undefined)
        waiting.clear()
      }
      heard = false
    },
    wake,
    async close(): Promise<void> {
      const last = client
      client = undefined
      last?.removeAllListeners('end')
      await last?.end().catch(() => undefined)
    },
  }
}

import { randomBytes } from 'node:crypto'
import { connect } from 'mqtt'
import { connectReason, TransientError } from '../../kit/errors.ts'
import { SECOND, waitFor, within } from '../../kit/time.ts'
import type { BrokerOptions } from './settings.ts'

/** A connection to the broker. Every method throws TransientError `mqtt_unreachable` when it ends or the broker does not answer in 15 s. */
export type Broker = Awaited<ReturnType<typeof openBroker>>

const ANSWER_WITHIN_MS = 15 * SECOND
const GOODBYE_WITHIN_MS = 2 * SECOND
/** The broker sends the will when it hears nothing for one and a half times this. */
const KEEPALIVE_S = 60
/** How MQTT 3.1.1 says that a login is refused. */
const LOGIN_REFUSED: ReadonlySet<unknown> = new Set([4, 5])

/**
 * Connects to the broker under a name, which ends an older connection of that name, or else under one of its own. `will` is what the
 * broker publishes when the connection is lost. Throws TransientError `mqtt_unreachable`, in one sentence without the password.
 */
export async function openBroker(
  { url, password, ca, cert, key }: BrokerOptions,
  {
    clientId = `musette_${randomBytes(6).toString('hex')}`,
    will,
    onMessage,
  }: {
    clientId?: string
    will?: { topic: string; payload: string }
    onMessage?: (message: { topic: string; text: string; isRetained: boolean }) => void
  } = {},
) {
  const address = new URL(url)
  const username = decodeURIComponent(address.username)
  const secret = password ?? decodeURIComponent(address.password)
  address.username = ''
  address.password = ''
  const lost = new AbortController()
  const end = (reason: unknown) => lost.abort(unreachable(address.host, reason))
  const client = connect(address.href, {
    ...{ clientId, clean: true, keepalive: KEEPALIVE_S, protocolVersion: 4 },
    // The publisher reconnects with growing pauses.
    ...{ reconnectPeriod: 0, connectTimeout: ANSWER_WITHIN_MS, resubscribe: false },
    ...(username !== '' && { username }),
    ...(secret !== '' && { password: secret }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(will && { will: { ...will, payload: Buffer.from(will.payload), qos: 1, retain: true } }),
  })
  client.on('error', end)
  // Of some errors, such as a name that is not known, the client says only that the connection closed.
  client.stream.on('error', end)
  client.on('close', () => end(new Error('it closed the connection')))
  client.on('message', (topic, payload, { retain }) =>
    onMessage?.({ topic, text: payload.toString('utf8'), isRetained: retain }),
  )
  const answered = async (work: Promise<unknown>): Promise<void> => {
    const late = setTimeout(
      () => end(new Error(`no answer within ${ANSWER_WITHIN_MS / SECOND} s`)),
      ANSWER_WITHIN_MS,
    )
    try {
      await waitFor(work, lost.signal)
    } catch (error) {
      lost.signal.throwIfAborted()
      throw unreachable(address.host, error)
    } finally {
      clearTimeout(late)
    }
  }
  await answered(new Promise<void>((resolve) => client.once('connect', () => resolve()))).catch((error) => {
    client.end(true)
    throw error
  })
  return {
    /** Publishes, and resolves when the broker has it. */
    publish: (topic: string, payload: string, { retain }: { retain: boolean }) =>
      answered(client.publishAsync(topic, payload, { qos: 1, retain })),
    subscribe: (topics: readonly string[]) => answered(client.subscribeAsync([...topics], { qos: 1 })),
    /** aborts, with the reason, when the connection is lost */
    lost: lost.signal,
    /** Says goodbye and closes; never throws. */
    async close() {
      client.removeAllListeners('close')
      const ended = client.endAsync(lost.signal.aborted).catch(() => undefined)
      if (!(await within(ended, GOODBYE_WITHIN_MS))) client.end(true)
    },
  }
}

function unreachable(host: string, error: unknown): TransientError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const reason = LOGIN_REFUSED.has(code)
    ? 'it refuses the user or the password; see MUSETTE_MQTT_URL and MUSETTE_MQTT_PASSWORD'
    : connectReason(error)
  return new TransientError('mqtt_unreachable', `the MQTT broker at ${host} cannot be used: ${reason}`)
}

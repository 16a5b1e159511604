import { randomBytes } from 'node:crypto'
import { connect, ReasonCodes, type StreamBuilder } from 'mqtt'
import { connectReason, TransientError } from '../../kit/errors.ts'
import { SECOND, waitFor, within } from '../../kit/time.ts'
import { dropLongPackets } from './drop-long-packets.ts'
import type { BrokerOptions } from './settings.ts'

/**
 * A connection to the broker. Every method throws TransientError `mqtt_unreachable` if the connection is lost or the broker does not answer
 * within 15 s.
 */
export type Broker = Awaited<ReturnType<typeof openBroker>>

const ANSWER_WITHIN_MS = 15 * SECOND
const GOODBYE_WITHIN_MS = 2 * SECOND
/** MQTT keepalive, s; the broker publishes the will if no packet arrives for one and a half times this time. */
const KEEPALIVE_S = 60
/** Reason codes for a refused login, in MQTT 3.1.1 and 5. */
const LOGIN_REFUSED: ReadonlySet<unknown> = new Set([4, 5, 134, 135])
/** Reason codes for an unsupported version of MQTT. */
const VERSION_REFUSED: ReadonlySet<unknown> = new Set([1, 132])
const NOT_AUTHORIZED = 135
const SESSION_TAKEN_OVER = 142
/** Maximum size of a received packet, bytes: the messages that others send to musette are single words. */
export const MAX_PACKET_BYTES = 8_192
/** Maximum size of a WebSocket message, bytes: a broker may put many packets into one message. */
const MAX_FRAME_BYTES = 1_048_576

type Session = {
  clientId?: string
  will?: { topic: string; payload: string }
  onMessage?: (message: { topic: string; payload: Buffer; isRetained: boolean }) => void
  /** called with the size of a packet that was dropped because it exceeds MAX_PACKET_BYTES */
  onDropped?: (bytes: number) => void
}

/**
 * Connects to the broker under a client id, which ends an older connection with the same id; without a client id, under a random id. The
 * broker publishes `will` if the connection is lost. Uses MQTT 5, in which a broker states why it refuses a message, or 3.1.1 if the broker
 * does not support 5. Throws TransientError `mqtt_unreachable`, in one sentence without the password.
 */
export function openBroker(options: BrokerOptions, session: Session = {}) {
  return connectBy(5, options, session).catch((error: unknown) => {
    const isOld = error instanceof TransientError && VERSION_REFUSED.has(error.cause)
    return isOld ? connectBy(4, options, session) : Promise.reject(error)
  })
}

async function connectBy(
  protocolVersion: 4 | 5,
  { url, password, ca, cert, key }: BrokerOptions,
  { clientId = `musette_${randomBytes(6).toString('hex')}`, will, onMessage, onDropped }: Session,
) {
  const address = new URL(url)
  const username = decodeURIComponent(address.username)
  const secret = password ?? decodeURIComponent(address.password)
  address.username = ''
  address.password = ''
  const lost = new AbortController()
  const end = (reason: unknown) => lost.abort(unreachable(address.host, reason))
  const client = connect(address.href, {
    ...{ clientId, clean: true, keepalive: KEEPALIVE_S, protocolVersion },
    // The publisher itself reconnects, with backoff.
    ...{ reconnectPeriod: 0, connectTimeout: ANSWER_WITHIN_MS, resubscribe: false, manualConnect: true },
    ...(protocolVersion === 5 && { properties: { maximumPacketSize: MAX_PACKET_BYTES } }),
    wsOptions: { maxPayload: MAX_FRAME_BYTES },
    ...(username !== '' && { username }),
    ...(secret !== '' && { password: secret }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(will && { will: { ...will, payload: Buffer.from(will.payload), qos: 1, retain: true } }),
  })
  // The client buffers a whole packet before it checks the size. It reads its stream only through `pipe`, so drop long packets there.
  const openStream: StreamBuilder = Reflect.get(client, 'streamBuilder')
  const openLimited: StreamBuilder = (...given) => {
    const stream = openStream(...given)
    const pipe = stream.pipe.bind(stream)
    const limited = () => pipe(dropLongPackets(MAX_PACKET_BYTES, (bytes) => onDropped?.(bytes)))
    return Object.assign(stream, { pipe: (parser: NodeJS.WritableStream) => limited().pipe(parser) })
  }
  Reflect.set(client, 'streamBuilder', openLimited)
  client.connect()
  client.on('error', end)
  // For some errors, such as an unknown host name, the client reports only that the connection closed.
  client.stream.on('error', end)
  client.on('disconnect', ({ reasonCode }) => end({ code: reasonCode }))
  client.on('close', () => end(new Error('it closed the connection')))
  client.on('message', (topic, payload, { retain }) => onMessage?.({ topic, payload, isRetained: retain }))
  const answered = async (work: Promise<unknown>, topic?: string): Promise<void> => {
    const late = setTimeout(
      () => end(new Error(`no answer within ${ANSWER_WITHIN_MS / SECOND} s`)),
      ANSWER_WITHIN_MS,
    )
    // After a lost connection nobody awaits `work`.
    work.catch(() => undefined)
    try {
      await waitFor(work, lost.signal)
    } catch (error) {
      lost.signal.throwIfAborted()
      throw unreachable(address.host, error, topic)
    } finally {
      clearTimeout(late)
    }
  }
  await answered(new Promise<void>((resolve) => client.once('connect', () => resolve()))).catch((error) => {
    client.end(true)
    throw error
  })
  return {
    /** Publishes a message; resolves when the broker has acknowledged it. */
    publish: (topic: string, payload: string, { retain }: { retain: boolean }) =>
      answered(client.publishAsync(topic, payload, { qos: 1, retain }), topic),
    /** Subscribes with QoS 0: dropped packets would not be acknowledged. */
    subscribe: (topics: readonly string[]) =>
      answered(client.subscribeAsync([...topics], { qos: 0 }), topics.join(' and ')),
    /** aborts with the reason if the connection is lost */
    lost: lost.signal,
    /** Disconnects; never throws. */
    async close() {
      client.removeAllListeners('close')
      const ended = client.endAsync(lost.signal.aborted).catch(() => undefined)
      if (!(await within(ended, GOODBYE_WITHIN_MS))) client.end(true)
    },
  }
}

/** Makes the error for a connection, or for a topic that the broker refuses. Its cause is MQTT's reason code. */
function unreachable(host: string, error: unknown, topic?: string): TransientError {
  const code = typeof error === 'object' && error && 'code' in error ? error.code : undefined
  const sentence = `the MQTT broker at ${host} cannot be used: ${reasonOf(code, error, topic)}`
  return new TransientError('mqtt_unreachable', sentence, { cause: code })
}

function reasonOf(code: unknown, error: unknown, topic?: string): string {
  const words = typeof code === 'number' ? Reflect.get(ReasonCodes, code) : undefined
  const allow = code === NOT_AUTHORIZED ? '; its access list must allow the topics in docs/recipes.md' : ''
  if (words && topic !== undefined) return `it refuses ${topic}: ${words}${allow}`
  if (code === SESSION_TAKEN_OVER)
    return `another connection has its client id (${words}); let one daemon of this database use the broker`
  if (words && !(error instanceof Error)) return `it closed the connection: ${words}${allow}`
  if (LOGIN_REFUSED.has(code))
    return 'it refuses the user or the password; see MUSETTE_MQTT_URL and MUSETTE_MQTT_PASSWORD'
  const reason = connectReason(error)
  // mosquitto answers a message above its message_size_limit with a code that MQTT does not allow there.
  return reason === 'Invalid puback reason code' ? 'it refuses a message: Packet too large' : reason
}

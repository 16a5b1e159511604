import { TransientError } from '../../kit/errors.ts'
import { sleep } from '../../kit/time.ts'
import type { Broker } from './broker.ts'

const COPIED =
  'another daemon publishes these devices, and its database is a copy of this one, or this one of it; end one of the two, or set MUSETTE_MQTT_URL for one of them only'

/**
 * Makes the claim of one connection to the devices, whose topics are the same for every copy of a database. The retained message of `topic`
 * is the line that publishes them. A newcomer with another line asks (`?LINE`), and leaves them to a daemon that answers within `answerMs`.
 */
export function makeClaim({ line, topic, answerMs }: { line: string; topic: string; answerMs: number }) {
  const lost = new AbortController()
  let retained: string | undefined
  let holder: Broker | undefined
  const claim = (broker: Broker) => broker.publish(topic, line, { retain: true })
  return {
    topic,
    /** aborts with TransientError `mqtt_copied` when a daemon of another line publishes the devices */
    lost: lost.signal,
    /** Takes a message of the topic. */
    hear(text: string, isRetained: boolean): void {
      if (isRetained) retained = text
      else if (text === line || text === `?${line}`) return
      else if (!text.startsWith('?')) lost.abort(new TransientError('mqtt_copied', COPIED))
      else if (holder) claim(holder).catch(() => undefined)
    },
    /** Claims the devices. Throws the reason of the signal, which also aborts with `lost`. */
    async take(broker: Broker, signal: AbortSignal): Promise<void> {
      // Where an access list denies the topic, nobody answers.
      await broker.subscribe([topic]).catch(() => signal.throwIfAborted())
      await broker.publish(topic, `?${line}`, { retain: false })
      if (retained !== undefined && retained !== line) await sleep(answerMs, signal)
      signal.throwIfAborted()
      await claim(broker)
      holder = broker
    },
  }
}

import { TransientError } from '../../kit/errors.ts'
import { sleep } from '../../kit/time.ts'
import type { Broker } from './broker.ts'

const COPIED =
  'another daemon publishes these devices from a copy of this database; stop one of the two daemons, or set MUSETTE_MQTT_URL for only one of them'

/**
 * Makes one connection's claim to the devices, whose topics are the same for every copy of a database. The retained message of `topic`
 * names the line that publishes the devices. A daemon of a different line asks (`?LINE`) before it publishes, and gives way if another
 * daemon answers within `answerMs`.
 */
export function makeClaim({ line, topic, answerMs }: { line: string; topic: string; answerMs: number }) {
  const lost = new AbortController()
  let retained: string | undefined
  let holder: Broker | undefined
  const claim = (broker: Broker) => broker.publish(topic, line, { retain: true })
  return {
    topic,
    /** aborts with TransientError `mqtt_copied` if a daemon of another line publishes the devices */
    lost: lost.signal,
    /** Handles a message of the topic. */
    hear(text: string, isRetained: boolean): void {
      if (isRetained) retained = text
      else if (text === line || text === `?${line}`) return
      else if (!text.startsWith('?')) lost.abort(new TransientError('mqtt_copied', COPIED))
      else if (holder) claim(holder).catch(() => undefined)
    },
    /** Claims the devices. Throws the reason of the signal, which also aborts with `lost`. */
    async take(broker: Broker, signal: AbortSignal): Promise<void> {
      // If an access list denies the topic, nobody answers.
      await broker.subscribe([topic]).catch(() => signal.throwIfAborted())
      await broker.publish(topic, `?${line}`, { retain: false })
      if (retained !== undefined && retained !== line) await sleep(answerMs, signal)
      signal.throwIfAborted()
      await claim(broker)
      holder = broker
    },
  }
}

import { Transform } from 'node:stream'

/**
 * Makes a stream of MQTT packets that drops packets longer than `limit` bytes as they arrive, so that no long packet is held in memory.
 * Calls `onDropped` with the size of each dropped packet.
 */
export function dropLongPackets(limit: number, onDropped: (bytes: number) => void): Transform {
  /** the received bytes of a packet's type and length */
  let head: number[] = []
  /** remaining bytes of the packet */
  let left = 0
  let isDropped = false
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (let at = 0; at < chunk.length; ) {
        if (left > 0) {
          const part = chunk.subarray(at, at + left)
          if (!isDropped) this.push(part)
          at += part.length
          left -= part.length
          continue
        }
        const byte = chunk[at] ?? 0
        head.push(byte)
        at += 1
        // After the type comes a length of up to four bytes, seven bits each, lowest first; the eighth bit marks that another byte follows.
        if (head.length === 1 || (byte >= 128 && head.length < 5)) continue
        left = head.slice(1).reduce((sum, each, index) => sum + (each % 128) * 128 ** index, 0)
        isDropped = left > limit
        if (isDropped) onDropped(left)
        else this.push(Buffer.from(head))
        head = []
      }
      done()
    },
  })
}
